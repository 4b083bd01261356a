//! What do cloud SDKs and RPC systems do by default?

use super::{A_YEAR, BARE, BECALM, Preset, ms, secs};
use crate::budget::Budget;
use crate::hedge::Hedge;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::Policy;
use crate::rate::AdaptiveRate;
use crate::throttle::Throttle;

/// Full jitter below 20 s: what all modes of the AWS SDKs have in common.
const AWS: Policy = Policy {
    attempts: 3,
    cap: secs(20),
    jitter: Jitter::Full,
    ..BARE
};

const AWS_2026: Policy = Policy {
    base: ms(50),
    throttled_base: Some(secs(1)),
    hint: HintMode::Clamp,
    budget: Budget::aws_2026_11(),
    ..AWS
};

/// A tenth of the requests, and 60 retries a minute.
const SRE_BUDGET: Budget = Budget::first_tries(0.1).and(Budget::per_minute(60));

/// K = 2 over two minutes; the book bounds the probability by nothing but 1.
const SRE_THROTTLE: Throttle = Throttle {
    k: 2.0,
    window: secs(120),
    max: 1.0,
};

const STAINLESS: Policy = Policy {
    base: ms(500),
    cap: secs(8),
    jitter: Jitter::Equal,
    attempts: 3,
    hint: HintMode::Honor,
    ..BARE
};

presets! {
    "aws-standard-2026-11" of "AWS SDKs, retry mode standard, as of November 2026":
        AWS_2026 {}
        but "There x-amz-retry-after is bounded by the computed delay plus 5 s, here by the \
             cap.";

    "aws-dynamodb-2026-11" of "AWS SDKs, retry mode standard for DynamoDB, as of November 2026":
        AWS_2026 { attempts: 4, base: ms(25) }
        but "There x-amz-retry-after is bounded by the computed delay plus 5 s, here by the \
             cap.";

    "aws-standard-legacy" of "AWS SDKs, retry mode standard before 2026 (v2.0)":
        AWS { base: secs(1), budget: Budget::aws_v2() }
        but "There a retry after a time-out costs 10 tokens, here 5 like any other; some SDKs \
             had other numbers (Java 4 attempts from 100 ms).";

    // Its base is itself drawn from U(0, 1 s), which is full jitter.
    "aws-legacy" of "botocore 1.44.0, retry mode legacy":
        BARE { attempts: 5, base: secs(1), jitter: Jitter::Full };

    "aws-legacy-dynamodb" of "botocore 1.44.0, retry mode legacy for DynamoDB":
        BARE { attempts: 10, base: ms(50) };

    "aws-adaptive-2026-11" of "AWS SDKs, retry mode adaptive, as of November 2026":
        AWS_2026 { rate: Some(AdaptiveRate::cubic()) }
        but "There x-amz-retry-after is bounded by the computed delay plus 5 s, here by the \
             cap.";

    "aws-crt" of "aws-c-io standard retry strategy, as of November 2026":
        AWS { attempts: 11, base: ms(500), budget: Budget::aws_crt() };

    "grpc" of "gRPC proposal A6, its example, as of November 2026":
        BARE {
            attempts: 4, base: ms(100), cap: secs(1), jitter: Jitter::Proportional(0.2),
            hint: HintMode::Honor, max_hint: A_YEAR, budget: Budget::grpc(10, 0.1),
        }
        but "gRPC jitters after the cap and may wait a fifth longer than it.";

    "grpc-hedging" of "gRPC proposal A6, its example of a hedging policy, as of November 2026":
        BARE {
            attempts: 4, hint: HintMode::Honor, max_hint: A_YEAR, budget: Budget::grpc(10, 0.1),
            hedge: Some(Hedge::after(ms(500)).copies(3)),
        }
        but "gRPC answers a failure with the next copy at once; here the running copies are \
             waited for, and a retry follows at once when all of them have failed.";

    "grpc-connection" of "gRPC connection backoff, as of November 2026":
        BARE { base: secs(1), multiplier: 1.6, cap: secs(120), jitter: Jitter::Proportional(0.2) }
        but "gRPC jitters after the cap and may wait a fifth longer than it; grpc-go leaves \
             the first delay without jitter.";

    "gcp-gax" of "gax-go, as of November 2026":
        BARE { base: secs(1), cap: secs(30), jitter: Jitter::Full }
        but "There the caller's context ends a call, and generated clients give each method a time \
             limit of its own; here nothing ends it: set a deadline.";

    "gcp-rust" of "google-cloud-gax 1.15":
        BARE { base: secs(1), cap: secs(60), jitter: Jitter::Full }
        but "There an adaptive throttle (K = 2, over all time) may hold a retry back, but no \
             first try; it is left out; the number of attempts is the caller's there and has \
             no bound here: set one, or a deadline.";

    "gcp-memorystore" of "Google Cloud documentation, exponential backoff for Memorystore, as of November 2026":
        BARE {
            base: secs(1), cap: secs(32), jitter: Jitter::Additive(secs(1)), deadline: Some(secs(600)),
        }
        but "The page wants a maximum of retries and gives no figure; here a call ends after 10 min, \
             as by default in Google's clients (google-cloud-redis for Python). There the jitter is added before the cap, which clips it, so that all clients at \
             the cap wait exactly 32 s; here it stays spread below the cap (other pages have \
             64 s).";

    "google-sre" of "Google, Site Reliability Engineering (2016), chapter 21":
        BECALM { attempts: 3, budget: SRE_BUDGET, throttle: Some(SRE_THROTTLE) }
        but "The book leaves the backoff to the reader, so becalm's default stands in; its \
             adaptive throttle sheds retries, too, here first tries alone.";

    "azure" of "azure_core for Rust (typespec_client_core 1.1.0)":
        BARE {
            attempts: 9, base: ms(400), cap: secs(30), jitter: Jitter::Additive(ms(255)),
            deadline: Some(secs(60)), hint: HintMode::Honor, max_hint: A_YEAR,
        }
        but "There the jitter is added before the cap, which clips it; the base is 400 ms \
             because the SDK doubles its 200 ms before the first wait; a hint replaces a \
             shorter computed delay without jitter on top, and the limit of 60 s cuts no \
             running attempt.";

    "stripe" of "stripe-python, as of November 2026":
        BARE { attempts: 3, base: ms(500), cap: secs(5), floor: ms(500), jitter: Jitter::Equal }
        but "Stripe raises a delay below 0.5 s to exactly that, so its first wait is always \
             0.5 s; here the first wait is spread from 0.5 s to 1 s.";

    "stainless-openai" of "OpenAI SDKs (generated by Stainless), as of November 2026":
        STAINLESS { max_hint: secs(120) }
        but "The SDK draws between three quarters of the ceiling and the ceiling, here from \
             half; it waits for a hint without jitter on top.";

    "stainless-anthropic" of "Anthropic SDKs (generated by Stainless), as of November 2026":
        STAINLESS {}
        but "The SDK draws between three quarters of the ceiling and the ceiling, here from \
             half; it disregards a hint above 60 s and retries early, where this policy \
             stops.";

    "mongodb" of "MongoDB drivers, client backpressure, as of November 2026":
        BARE { attempts: 3, base: ms(200), cap: secs(10), jitter: Jitter::Full }
        but "The server's baseBackoffMS replaces the base there; here it is ignored; the base \
             is 200 ms because the drivers double their 100 ms before the first wait.";
}
