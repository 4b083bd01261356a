//! What do the pages of systems whose files are lines show, in words of our own? Each value is another than the default.

/// A file of lines.
pub struct Lines {
    pub name: &'static str,
    pub text: &'static str,
    pub settings: &'static [Setting],
    /// Whether a block begins below a line.
    pub is_head: fn(&str) -> bool,
    /// Whether something may stand above all blocks.
    pub has_top: bool,
}

/// A setting, by its word.
pub struct Setting {
    pub word: &'static str,
    /// Its line, switched off.
    pub off: &'static [&'static str],
    /// Its line, with what it does not take.
    pub others: &'static [&'static str],
    /// Words of other places.
    pub elsewhere: &'static [&'static str],
}

pub const LINES: &[Lines] = &[
    Lines {
        name: "nginx.conf",
        text: "events {\n}\nhttp {\n  upstream orders {\n    server 10.0.0.1:80;\n    server 10.0.0.2:80;\n    server 10.0.0.3:80;\n  }\n  server {\n    \
               listen 80;\n    location / {\n      proxy_pass http://orders;\n      proxy_next_upstream error;\n      \
               proxy_next_upstream_tries 2;\n      proxy_next_upstream_timeout 5s;\n      proxy_read_timeout 2s;\n    }\n  }\n}\n",
        settings: &[
            Setting {
                word: "proxy_next_upstream",
                off: &["      proxy_next_upstream off;"],
                others: &[
                    "      proxy_next_upstream 3;",
                    "      proxy_next_upstream on;",
                    "      proxy_next_upstream;",
                ],
                elsewhere: &[],
            },
            Setting {
                word: "proxy_next_upstream_tries",
                off: &[
                    "      proxy_next_upstream_tries 1;",
                    "      proxy_next_upstream_tries 0;",
                ],
                others: &[
                    "      proxy_next_upstream_tries two;",
                    "      proxy_next_upstream_tries 1s;",
                    "      proxy_next_upstream_tries;",
                ],
                elsewhere: &[],
            },
            Setting {
                word: "proxy_next_upstream_timeout",
                off: &["      proxy_next_upstream_timeout 0;"],
                others: &[
                    "      proxy_next_upstream_timeout off;",
                    "      proxy_next_upstream_timeout;",
                ],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.ends_with('{'),
        has_top: true,
    },
    Lines {
        name: "stream.conf",
        text: "events {\n}\nstream {\n  upstream db {\n    server 10.0.0.1:5432;\n    server 10.0.0.2:5432;\n    server 10.0.0.3:5432;\n  }\n  server {\n    \
               listen 5432;\n    proxy_pass db;\n    proxy_next_upstream on;\n    proxy_next_upstream_tries 2;\n    \
               proxy_next_upstream_timeout 5s;\n    proxy_connect_timeout 1s;\n  }\n}\n",
        settings: &[
            Setting {
                word: "proxy_next_upstream_tries",
                off: &[
                    "    proxy_next_upstream_tries 1;",
                    "    proxy_next_upstream_tries 0;",
                ],
                others: &[
                    "    proxy_next_upstream_tries two;",
                    "    proxy_next_upstream_tries;",
                ],
                elsewhere: &[],
            },
            Setting {
                word: "proxy_next_upstream_timeout",
                off: &["    proxy_next_upstream_timeout 0;"],
                others: &[
                    "    proxy_next_upstream_timeout off;",
                    "    proxy_next_upstream_timeout;",
                ],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.ends_with('{'),
        has_top: true,
    },
    Lines {
        name: "haproxy.cfg",
        text: "global\n    maxconn 100\ndefaults\n    mode http\n    timeout connect 1s\n    timeout client 30s\n    timeout server 5s\n\
               frontend shop\n    bind :8080\n    default_backend orders\nbackend orders\n    retries 2\n    option redispatch\n    \
               retry-on conn-failure\n    server a 10.0.0.1:80\n    server b 10.0.0.2:80\nuserlist people\n    user one insecure-password two\n",
        settings: &[
            Setting {
                word: "retries",
                off: &["    retries 0"],
                others: &["    retries two", "    retries 1s", "    retries"],
                elsewhere: &[],
            },
            Setting {
                word: "redispatch",
                off: &["    no option redispatch"],
                others: &["    option redispatch often"],
                elsewhere: &[],
            },
            Setting {
                word: "retry-on",
                off: &["    retry-on none"],
                others: &["    retry-on 3", "    retry-on"],
                elsewhere: &[],
            },
        ],
        is_head: |line| !line.starts_with(' '),
        has_top: false,
    },
    Lines {
        name: "haproxy-template.cfg",
        text: "global\n    maxconn 100\ndefaults base\n    mode http\n    timeout connect 1s\n    timeout client 30s\n    timeout server 5s\n\
               defaults web from base\n    retries 2\n    option redispatch\n    retry-on conn-failure\nfrontend shop from base\n    bind :8080\n    \
               default_backend orders\nbackend orders from web\n    default-server check inter 3s\n    \
               server-template node 3 orders.internal:80\nuserlist people\n    user one insecure-password two\n",
        settings: &[
            Setting {
                word: "retries",
                off: &["    retries 0"],
                others: &["    retries two", "    retries"],
                elsewhere: &[],
            },
            Setting {
                word: "redispatch",
                off: &["    no option redispatch"],
                others: &["    option redispatch often"],
                elsewhere: &[],
            },
            Setting {
                word: "retry-on",
                off: &["    retry-on none"],
                others: &["    retry-on 3", "    retry-on"],
                elsewhere: &[],
            },
        ],
        is_head: |line| !line.starts_with(' '),
        has_top: false,
    },
    Lines {
        name: "traefik.toml",
        text: "[http.routers.orders]\nrule = \"Host(`orders.example.com`)\"\nmiddlewares = [\"again\"]\nservice = \"orders\"\n\
               [http.middlewares.again.retry]\nattempts = 3\ninitialInterval = \"200ms\"\ntimeout = \"10s\"\n\
               [http.services.orders.loadBalancer]\npassHostHeader = false\n",
        settings: &[
            Setting {
                word: "attempts",
                off: &["attempts = 1"],
                others: &["attempts = \"three\"", "attempts = [3]"],
                elsewhere: &[],
            },
            Setting {
                word: "initialInterval",
                off: &["initialInterval = 0"],
                others: &["initialInterval = \"soon\"", "initialInterval = [1]"],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.starts_with('['),
        has_top: true,
    },
    Lines {
        name: "shop.zone",
        text: r#"$ORIGIN shop.example.
@ 300 IN SOA ns hostmaster 1 2 3 4 5
_grpc_config.orders 300 IN TXT ( "grpc_config=[{\"serviceConfig\":{"
  "\"methodConfig\":[{\"name\":[{\"service\":\"shop.v1.Orders\"}],"
  "\"timeout\": \"5s\","
  "\"retryPolicy\":{"
  "\"maxAttempts\": 3,"
  "\"initialBackoff\": \"0.1s\","
  "\"backoffMultiplier\": 3,"
  "\"maxBackoff\": \"2s\",\"retryableStatusCodes\":[\"UNAVAILABLE\"]}}],"
  "\"retryThrottling\": {\"maxTokens\":20,\"tokenRatio\":0.1},"
  "\"loadBalancingPolicy\":\"round_robin\"}}]" )
orders 300 IN A 10.0.0.1
"#,
        settings: &[
            Setting {
                word: r#""\"maxAttempts\":"#,
                off: &[r#"  "\"maxAttempts\": 1,""#],
                others: &[
                    r#"  "\"maxAttempts\": \"three\",""#,
                    r#"  "\"maxAttempts\": [3],""#,
                ],
                elsewhere: &[],
            },
            Setting {
                word: r#""\"initialBackoff\":"#,
                off: &[r#"  "\"initialBackoff\": \"0s\",""#],
                others: &[
                    r#"  "\"initialBackoff\": 1,""#,
                    r#"  "\"initialBackoff\": {},""#,
                ],
                elsewhere: &[],
            },
            Setting {
                word: r#""\"backoffMultiplier\":"#,
                off: &[r#"  "\"backoffMultiplier\": 1,""#],
                others: &[r#"  "\"backoffMultiplier\": \"many\",""#],
                elsewhere: &[],
            },
            Setting {
                word: r#""\"retryThrottling\":"#,
                off: &[],
                others: &[r#"  "\"retryThrottling\": 3,""#],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.ends_with("{\""),
        has_top: false,
    },
    Lines {
        name: "compose.yml",
        text: "services:\n  orders:\n    image: orders\n    labels:\n      - traefik.http.routers.orders.middlewares=again\n      \
               - traefik.http.middlewares.again.retry.attempts=3\n      - traefik.http.middlewares.again.retry.initialinterval=200ms\n      \
               - traefik.http.middlewares.again.retry.timeout=10s\n",
        settings: &[
            Setting {
                word: "traefik.http.middlewares.again.retry.attempts",
                off: &["      - traefik.http.middlewares.again.retry.attempts=1"],
                others: &["      - traefik.http.middlewares.again.retry.attempts=three"],
                elsewhere: &[
                    "traefik.http.middlewares.again.attempts",
                    "traefik.http.routers.orders.retry.attempts",
                    "traefik.http.retry.attempts",
                    "traefik.tcp.middlewares.again.retry.attempts",
                    "http.middlewares.again.retry.attempts",
                ],
            },
            Setting {
                word: "traefik.http.middlewares.again.retry.initialinterval",
                off: &["      - traefik.http.middlewares.again.retry.initialinterval=0"],
                others: &["      - traefik.http.middlewares.again.retry.initialinterval=soon"],
                elsewhere: &[],
            },
        ],
        is_head: |_| false,
        has_top: false,
    },
    Lines {
        name: "config.ini",
        text: "[default]\nregion = eu-central-1\nretry_mode = standard\nmax_attempts = 2\n[sso-session company]\nsso_region = eu-central-1\n\
               [services local]\ns3 =\n  endpoint_url = http://127.0.0.1:9000\n",
        settings: &[
            Setting {
                word: "retry_mode",
                off: &["retry_mode = off"],
                others: &["retry_mode = 3", "retry_mode ="],
                elsewhere: &[],
            },
            Setting {
                word: "max_attempts",
                off: &["max_attempts = 1"],
                others: &["max_attempts = two", "max_attempts = 1s", "max_attempts ="],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.starts_with('['),
        has_top: false,
    },
    Lines {
        name: "roles.ini",
        text: "[profile base]\naws_access_key_id = AKIA\nregion = eu-central-1\n[profile shop]\nrole_arn = arn:aws:iam::1:role/shop\n\
               source_profile = base\nretry_mode = standard\nmax_attempts = 2\n",
        settings: &[
            Setting {
                word: "retry_mode",
                off: &["retry_mode = off"],
                others: &["retry_mode = 3", "retry_mode ="],
                elsewhere: &[],
            },
            Setting {
                word: "max_attempts",
                off: &["max_attempts = 1"],
                others: &["max_attempts = two", "max_attempts ="],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.starts_with('['),
        has_top: false,
    },
    Lines {
        name: "application.properties",
        text: "spring.application.name=shop\nresilience4j.retry.instances.orders.maxAttempts=4\n\
               resilience4j.retry.instances.orders.waitDuration=200ms\nresilience4j.retry.instances.orders.enableExponentialBackoff=true\n\
               resilience4j.retry.instances.orders.enableRandomizedWait=true\nresilience4j.retry.instances.orders.retryExceptions=java.net.ConnectException\n\
               resilience4j.timelimiter.instances.orders.timeoutDuration=2s\n",
        settings: &[Setting {
            word: "resilience4j.retry.instances.orders.maxAttempts",
            off: &["resilience4j.retry.instances.orders.maxAttempts=1"],
            others: &[
                "resilience4j.retry.instances.orders.maxAttempts=two",
                "resilience4j.retry.instances.orders.maxAttempts.value=2",
            ],
            elsewhere: &[
                "resilience4j.instances.orders.maxAttempts",
                "resilience4j.retry.orders.maxAttempts",
                "resilience4j.retry.instances.maxAttempts",
                "resilience4j.retry.maxAttempts",
                "resilience4j.timelimiter.instances.orders.maxAttempts",
                "retry.instances.orders.maxAttempts",
                "spring.resilience4j.retry.instances.orders.maxAttempts",
            ],
        }],
        is_head: |_| false,
        has_top: true,
    },
    Lines {
        name: "becalm.toml",
        text: "base = \"250ms\"\nattempts = 3\ndeadline = \"10s\"\nattempt_timeout = \"2s\"\nbudget = \"ratio:0.1,burst:10\"\n\
               [retry_on]\nmethods = [\"GET\"]\nstatuses = [503]\n",
        settings: &[
            Setting {
                word: "attempts",
                off: &["attempts = 1"],
                others: &["attempts = \"two\"", "attempts = [2]"],
                elsewhere: &[],
            },
            Setting {
                word: "base",
                off: &["base = \"0s\""],
                others: &["base = 3", "base = []"],
                elsewhere: &[],
            },
            Setting {
                word: "budget",
                off: &["budget = \"none\""],
                others: &["budget = 3", "budget = []"],
                elsewhere: &[],
            },
        ],
        is_head: |line| line.starts_with('['),
        has_top: true,
    },
];
