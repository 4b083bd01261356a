//! How do files become fits?

use becalm_fit::log::{Format, Log, Reader, Said, Tally};
use becalm_fit::{Fits, Fitted, Options};

use super::args::Args;
use super::input;
use crate::storm::progress::Progress;

/// What was read of all files.
#[derive(Debug)]
pub struct Read {
    pub whole: Fitted,
    /// Of each upstream apart, by its number.
    pub pools: Vec<(u32, Fitted)>,
    /// Requests of further upstreams, which were not.
    pub beyond: u64,
    pub tallies: Vec<Tally>,
    /// As TOML.
    pub scenario: String,
    /// What a Prometheus was asked.
    pub asked: Option<String>,
}

/// Requests between two looks at the progress.
const STRIDE: u64 = 65_536;

impl Read {
    /// Reads the files that the flags name, as they say.
    pub fn of(args: &Args) -> Result<Self, String> {
        let said = match (&args.log_format, &args.json_fields, args.format) {
            (Some(text), ..) => Said::Format(Format::written(text).map_err(|it| it.to_string())?),
            (None, Some(text), _) => {
                Said::Format(Format::named(text).map_err(|it| it.to_string())?)
            }
            (None, None, Some(kind)) => Said::Kind(kind),
            (None, None, None) => Said::Nothing,
        };
        let mut bytes = 0;
        let mut readers = Vec::new();
        for path in &args.logs {
            let input = input::open(path)?;
            bytes += input.length;
            let reader = Reader::open(input.name, input.text, &said);
            readers.push(reader.map_err(|it| it.to_string())?);
        }
        let mut log = Log::new(readers);
        let number = |pool: &String| pool.parse().unwrap_or_else(|_| log.upstream(pool));
        let pool = args.pool.as_ref().map(number);
        let mut options = Options::default();
        options.sampled = args.sampled;
        options.is_one_pool = args.one_pool;
        options.longest = args.longer_than;
        let mut fits = Fits::new(options, pool, args.split);
        let progress = Progress::new("reading, MB");
        let mut until_told = STRIDE;
        while let Some(request) = log.read().map_err(|it| it.to_string())? {
            fits.push(request);
            until_told -= 1;
            if until_told == 0 {
                until_told = STRIDE;
                let read: u64 = log.tallies().map(|it| it.bytes).sum();
                progress.tell(read >> 20, bytes.max(read) >> 20);
            }
        }
        drop(progress);
        let tallies: Vec<_> = log.tallies().cloned().collect();
        if fits.requests() == 0 {
            return Err(match &args.pool {
                Some(pool) => format!(
                    "no request of the upstream {pool} is in the log; --split shows those that are"
                ),
                None => "no request is in the log".into(),
            });
        }
        for tally in &tallies {
            fits.unread(tally.unread, tally.requests);
        }
        let beyond = fits.beyond();
        let (whole, pools) = fits.finish();
        Ok(Self {
            scenario: whole.scenario(&args.name),
            beyond,
            whole,
            pools,
            tallies,
            asked: None,
        })
    }

    /// The fits that were asked for: of each pool, or of all as one.
    pub fn fits(&self) -> impl Iterator<Item = &Fitted> {
        let whole = self.pools.is_empty().then_some(&self.whole);
        whole.into_iter().chain(self.pools.iter().map(|(_, it)| it))
    }
}
