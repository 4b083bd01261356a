//! Is a resource of another group, with a kind of the same name, taken for what it is not?

mod asked;

use asked::of;
use becalm_check::Checked;

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

/// Knative has a `Service` and an `Ingress` of its own, whose annotations neither Linkerd nor a controller of ingresses reads.
#[test]
fn a_kind_of_knative_is_none_of_kubernetes() {
    let of = |version: &str, kind: &str, annotations: &str| {
        of(&[(
            "a.yaml",
            &format!(
                "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: a\n  annotations:\n{annotations}spec: {{}}\n"
            ),
        )])
    };
    for (kind, core, other, annotations) in [
        (
            "Service",
            "v1",
            "serving.knative.dev/v1",
            "    retry.linkerd.io/http: 5xx\n    timeout.linkerd.io/request: 5s\n",
        ),
        (
            "Service",
            "v1",
            "serving.knative.dev/v1",
            "    konghq.com/retries: \"9\"\n",
        ),
        (
            "Ingress",
            "networking.k8s.io/v1",
            "networking.internal.knative.dev/v1alpha1",
            "    projectcontour.io/retry-on: 5xx\n",
        ),
        (
            "Ingress",
            "extensions/v1beta1",
            "config.openshift.io/v1",
            "    nginx.ingress.kubernetes.io/proxy-next-upstream: error\n",
        ),
    ] {
        let own = of(core, kind, annotations);
        assert_eq!(own.mappings.len(), 1, "{own:#?}");
        let checked = of(other, kind, annotations);
        assert!(checked.mappings.is_empty(), "{checked:#?}");
        assert!(
            !codes(&checked).is_empty() && codes(&checked) != ["unknown-system"],
            "{checked:#?}"
        );
        let told = checked
            .findings
            .iter()
            .any(|it| it.severity > becalm_check::Severity::Note);
        assert!(told, "{checked:#?}");
    }
}

#[test]
fn a_resource_of_another_group_bounds_nothing() {
    let own = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {hosts: [a], http: [{route: [{destination: {host: a}}], retries: {attempts: 3}}]}\n";
    let rule = |version: &str| {
        format!(
            "{own}---\napiVersion: {version}\nkind: DestinationRule\nmetadata: {{name: a}}\nspec: {{host: a, trafficPolicy: {{retryBudget: {{percent: 10, minRetryConcurrency: 2}}}}}}\n"
        )
    };
    let of = |version: &str| of(&[("a.yaml", &rule(version))]).mappings[0].policy.budget;
    assert_ne!(of("networking.istio.io/v1"), of("example.com/v1"));
}

/// Each server of Spring Cloud Gateway has keys of its own, and so remedies.
#[test]
fn a_note_about_each_of_two_servers_is_told() {
    let filter = "filters: [{name: Retry, args: {retries: 2, series: SERVER_ERROR, methods: GET}}]";
    let one = |server: &str| {
        format!(
            "spring:\n  cloud:\n    gateway:\n      server:\n        {server}:\n          routes:\n          - {{id: a, uri: \"http://a\", {filter}}}\n"
        )
    };
    let remedies = |files: &[(&str, &str)]| {
        let found = of(files).findings.into_iter();
        let mut found: Vec<_> = found.map(|it| (it.code, it.remedy)).collect();
        found.sort();
        found.dedup();
        found
    };
    let (flux, mvc) = (one("webflux"), one("webmvc"));
    let alone = [remedies(&[("a.yml", &flux)]), remedies(&[("b.yml", &mvc)])];
    let mut alone = alone.concat();
    alone.sort();
    alone.dedup();
    assert_eq!(remedies(&[("a.yml", &flux), ("b.yml", &mvc)]), alone);
}
