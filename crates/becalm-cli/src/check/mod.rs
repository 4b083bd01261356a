//! `becalm check`: what do other systems' configuration files say about retrying, and is it safe?

mod baseline;
mod document;
mod frame;
mod input;
mod page;
mod policies;
mod service;
mod text;
mod told;

use std::path::PathBuf;
use std::process::ExitCode;

use becalm::lint::Lint;
use becalm_check::layers::{layers, outlived};
use becalm_check::shown::{OF_A_KIND, bounded, github, printable, sarif};
use becalm_check::{As, Finding, Mapping, Settings, Severity, System, check_and};

use crate::again;
use crate::given::Given;
use crate::output::Output;
use crate::stream::Stream;
use crate::usage;
use input::Input;
use policies::Policies;
use service::Judge;
use text::Amount;
use told::{Stack, Told};

/// Check what configuration files of other systems say about retrying
///
/// Reads Envoy, Istio, Envoy Gateway, Gateway API, Linkerd, ingress-nginx, Traefik, Kong, Contour, Dapr, Kuma, gRPC service
/// configs, Spring Cloud Gateway, Resilience4j, Microsoft.Extensions.Http.Resilience, ~/.aws/config, nginx and HAProxy; finds
/// out which file is which; and says what is dangerous in it, at which line, and what helps.
#[derive(Debug, clap::Args)]
#[command(after_long_help = LONG_HELP)]
#[expect(clippy::struct_excessive_bools)] // each is a flag
pub struct Args {
    /// The files, directories of them, patterns such as 'deploy/**/*.yaml', or - for standard input; with --layers the
    /// outermost first
    #[arg(value_name = "FILE", required_unless_present = "cluster")]
    files: Vec<PathBuf>,

    /// Print the line that asks a cluster for all resources that are read, and checks them; nothing is asked of the cluster here
    #[arg(long, exclusive = true)]
    cluster: bool,

    /// Read a system as of this version, such as envoy@1.40; a file that no system recognises is read
    /// as one of these
    #[arg(long = "as", value_name = "SYSTEM", value_parser = As::parse)]
    versions: Vec<As>,

    /// Multiply the attempts of the files, the outermost first; with --service the layers are also judged together
    #[arg(long)]
    layers: bool,

    /// Simulate what each policy does to the service of this scenario (becalm storm), and give the verdict
    #[arg(long, value_name = "FILE")]
    service: Option<PathBuf>,

    /// Exit with 1 if anything is found but notes, for a build
    #[arg(long)]
    strict: bool,

    /// With --strict, let findings of this code pass; may be given several times
    #[arg(long = "allow", value_name = "CODE", value_parser = finding_code)]
    allowed: Vec<String>,

    /// Print the first line and the errors alone
    #[arg(short, long, conflicts_with_all = ["json", "github"])]
    quiet: bool,

    /// Print every finding and every policy, however many there are; so do the reports
    #[arg(long, conflicts_with = "quiet")]
    all: bool,

    /// Let pass what this file knows, which --write-baseline writes: findings that were there before, but no verdict of --service
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write what was found as a file for --baseline
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,

    /// Write each policy as a file into this directory, with the line that each key comes from
    #[arg(long, value_name = "DIRECTORY", help_heading = REPORTS)]
    out: Option<PathBuf>,

    /// Write a report: one HTML file that needs no other
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    report: Option<PathBuf>,

    /// Write the findings as SARIF 2.1.0, which tools of code review read
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    sarif: Option<PathBuf>,

    /// Print the findings as annotations of a build on GitHub instead
    #[arg(long, conflicts_with = "json", help_heading = REPORTS)]
    github: bool,

    /// Print one JSON document instead (--help shows its shape)
    #[arg(long, help_heading = REPORTS)]
    json: bool,
}

const REPORTS: &str = "Reports";

const LONG_HELP: &str = "\
Nothing is asked of any server, and nothing is guessed: a value such as ${X} is
unknown, a file with {{ .Values.x }} or <%= x %> is a template (check what
\"helm template\" prints), and what is configured in code is not seen. Files
that include or depend on each other are named together: those of HAProxy in
the order of its -f. Without --service there is
no verdict, because it depends on the service; \"becalm fit\" makes a scenario of
its log.

The shape of --json, stable:
  {\"becalm\":\"0.1.0\",
   \"findings\":[{\"file\":\"orders.yaml\",\"line\":10,\"column\":5,\"length\":7,
     \"code\":\"no-budget\",\"severity\":\"warning\",\"sentence\":\"...\",
     \"remedy\":\"...\",
     \"also\":[{\"line\":20,\"column\":5,\"length\":7,\"sentence\":\"...\"}]}],
   \"mappings\":[{\"system\":\"istio\",\"version\":\"1.31\",\"evidence\":\"read\",
     \"file\":\"orders.yaml\",\"line\":10,\"name\":\"route to orders\",
     \"names\":[\"orders\"],\"sentence\":\"retry (41 attempts, ...\",
     \"amplification\":41.0,\"policy\":{\"attempts\":41,...},
     \"origins\":{\"attempts\":{\"from\":\"line\",\"line\":11,
       \"how\":\"40 retries and the first try\"},\"base\":{\"from\":\"default\"}},
     \"not_expressible\":[{\"what\":\"...\",\"why\":\"...\",\"line\":null}],
     \"verdict\":null}],
   \"layers\":null,
   \"more\":[{\"code\":\"no-budget\",\"severity\":\"warning\",\"findings\":9990,
     \"places\":0}],
   \"more_mappings\":0}
severity: error, warning or note. also: where else in the file the same is so, of the
same figures and with the same remedy: all of them are one finding. evidence: run (the
system was run with such files and its attempts counted) or read (in its source).
amplification: attempts for each first try while all fail, null where nothing bounds
it. from: line, default, unknown (a placeholder) or not_expressible. With --service,
verdict is {\"verdict\":\"stable\",\"evidence\":\"...\",\"hidden_capacity\":600.0};
with --layers, layers is
{\"name\":\"orders\",\"attempts\":20,\"of\":[5,4],\"verdict\":null}, whose verdict with
--service is that on all layers together. more and more_mappings: what is left out
beyond 100 findings or places of a kind and 500 policies; --all leaves out none.

Exit codes:
  0  every file was read
  1  something was found that --allow does not let pass, and --strict was given
  2  a file cannot be opened, a document that may hold retries cannot be read,
     or the command line is refused

Examples:
  becalm check envoy.yaml
  becalm check --strict --sarif findings.sarif deploy/*.yaml
  becalm check --as envoy@1.40 routes.json --out policies
  becalm check --layers client.json mesh.yaml service.yml
  becalm check virtual-service.yaml --service orders.toml
  sh -c \"$(becalm check --cluster)\"";

/// One that findings have, or lints.
fn finding_code(text: &str) -> Result<String, String> {
    let own = becalm_check::code::ALL.iter().map(|it| it.name);
    let codes = || own.clone().chain(Lint::CODES.iter().copied());
    if codes().any(|it| it == text) {
        return Ok(text.to_owned());
    }
    let remedy = becalm::support::nearest(text, codes()).map_or_else(
        || "the findings have their codes in brackets".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    Err(format!("no finding has this code; {remedy}"))
}

/// `becalm check`
pub fn execute(args: &Args) -> ExitCode {
    if args.cluster {
        return usage::print([of_cluster()]);
    }
    run(args).unwrap_or_else(|sentence| usage::refuse(&sentence))
}

/// What asks a cluster for the resources that are read: kubectl refuses all where the cluster does not know one of them.
fn of_cluster() -> String {
    let kinds = System::kinds().join("|").replace('.', "\\.");
    format!(
        "kubectl get \"$(kubectl api-resources --verbs=list -o name | grep -xE '{kinds}' | paste -sd, -)\" -A -o yaml | becalm check -\n"
    )
}

fn run(args: &Args) -> Result<ExitCode, String> {
    let paths = input::named(&args.files)?;
    let inputs = paths.iter().map(|it| Input::read(it));
    let inputs: Vec<Input> = inputs.collect::<Result<_, _>>()?;
    let mut given = Given::default();
    for file in paths.iter().chain(&args.service).chain(&args.baseline) {
        given.add(file);
    }
    for output in args
        .report
        .iter()
        .chain(&args.sarif)
        .chain(&args.write_baseline)
    {
        given.spare(output)?;
    }
    let reports = Reports::open(args)?;
    let mut settings = Settings::default();
    settings.versions.clone_from(&args.versions);
    // A baseline knows each finding by its sentence.
    settings.every = args.all || args.baseline.is_some() || args.write_baseline.is_some();
    // Each policy is simulated, written or multiplied.
    settings.every_mapping =
        args.all || args.service.is_some() || args.out.is_some() || args.layers;
    let files: Vec<_> = inputs.iter().map(Input::file).collect();
    let judge = args.service.as_deref().map(Judge::open).transpose()?;
    let (mut judged, mut stack) = (None, None);
    let mut checked = check_and(&files, &settings, |mappings| {
        judged = judge.as_ref().map(|it| it.each(mappings));
        let all = judged.as_ref().and_then(|it| it.as_ref().ok());
        let mut found = service::findings(mappings, all.map_or(&[], |it| it));
        stack = args
            .layers
            .then(|| self::stack(&inputs, mappings, judge.as_ref()));
        if let Some(Ok(Stack { layers, judged })) = &stack {
            found.extend(outlived(layers));
            let judged = judged.as_ref();
            found.extend(judged.and_then(|it| service::finding(layers, it)));
        }
        found
    });
    let judged = judged.transpose()?;
    let layers = stack.transpose()?;
    let known = args
        .baseline
        .as_deref()
        .map(|it| baseline::take(it, &mut checked));
    let known = known.transpose()?.unwrap_or(0);
    let policies = args.out.as_deref();
    let policies = policies
        .map(|it| Policies::of(&checked.mappings, &given, it))
        .transpose()?;
    let told = Told::new(&inputs, &checked, known, layers, judged);
    let printed = reports.write(&told, args)?;
    if let Some(policies) = policies {
        policies.write(stream(args))?;
    }
    Ok(code(&told, args, printed))
}

/// What tells of files that were written.
const fn stream(args: &Args) -> Stream {
    if args.json || args.github {
        Stream::Stderr
    } else {
        Stream::Stdout
    }
}

/// The files that the findings go to.
struct Reports {
    page: Option<Output>,
    baseline: Option<Output>,
    sarif: Option<Output>,
}

impl Reports {
    fn open(args: &Args) -> Result<Self, String> {
        let open = |it: &Option<PathBuf>| it.as_deref().map(Output::open).transpose();
        Ok(Self {
            page: open(&args.report)?,
            baseline: open(&args.write_baseline)?,
            sarif: open(&args.sarif)?,
        })
    }

    /// Prints what was found, and writes it; whether it could be printed.
    fn write(self, told: &Told<'_>, args: &Args) -> Result<ExitCode, String> {
        let stream = stream(args);
        let (most, policies) = if args.all {
            (usize::MAX, usize::MAX)
        } else {
            (OF_A_KIND, page::POLICIES)
        };
        let findings = &told.checked.findings;
        let shown = bounded(findings, &told.checked.more, most);
        let printed = usage::print([if args.json {
            document::document(told, &shown, policies)
        } else if args.github {
            github(&shown)
        } else {
            text::text(told, amount(args), stream)
        }]);
        if let Some(output) = self.page {
            let page = page::page(told, &shown, policies, again::arguments());
            let path = output.write(&page.to_html())?;
            stream.write(&usage::shown(&format!("report: {}\n", path.display())));
        }
        if let Some(output) = self.baseline {
            let path = output.write(&baseline::written(findings))?;
            stream.write(&usage::shown(&format!("baseline: {}\n", path.display())));
        }
        if let Some(output) = self.sarif {
            let path = output.write(&sarif(&shown))?;
            stream.write(&usage::shown(&format!("findings: {}\n", path.display())));
        }
        Ok(printed)
    }
}

const fn amount(args: &Args) -> Amount {
    match (args.quiet, args.all) {
        (true, _) => Amount::Quiet,
        (_, true) => Amount::All,
        _ => Amount::Screen,
    }
}

fn code(told: &Told<'_>, args: &Args, printed: ExitCode) -> ExitCode {
    let is_allowed = |code: &str| args.allowed.iter().any(|it| it == code);
    let fails = |it: &Finding| it.severity > Severity::Note && !is_allowed(it.code);
    let findings = &told.checked.findings;
    let unread = [
        becalm_check::code::CANNOT_READ.name,
        becalm_check::code::TEMPLATE.name,
        becalm_check::code::UNKNOWN_SYSTEM.name,
    ];
    let is_unread = |it: &Finding| it.severity == Severity::Error && unread.contains(&it.code);
    if findings.iter().any(is_unread) {
        ExitCode::from(usage::REFUSED)
    } else if args.strict && findings.iter().any(fails) {
        ExitCode::FAILURE
    } else {
        printed
    }
}

/// The layers of the files, together before the judge where there is one.
fn stack(
    inputs: &[Input],
    mappings: &[Mapping],
    judge: Option<&Judge<'_>>,
) -> Result<Stack, String> {
    let of_file = |input: &Input| {
        let mappings = mappings.iter().filter(|it| it.file == input.name());
        mappings.cloned().collect::<Vec<_>>()
    };
    let files: Vec<_> = inputs.iter().map(|it| (it.name(), of_file(it))).collect();
    let layers = layers(&files).map_err(|refusal| format!("--layers: {}", printable(&refusal)))?;
    let judged = judge.map(|it| it.together(&layers)).transpose()?.flatten();
    Ok(Stack { layers, judged })
}
