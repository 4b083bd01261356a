//! Scenario files: what is read is written and read again as the same; what is refused is refused
//! with a sentence. The text stands for the files that it names, too.
#![no_main]

use std::io;

use becalm_sim::scenario::file;
use libfuzzer_sys::fuzz_target;

/// A service and a population before the input, so that its keys and sections reach the readers.
const BEGINNING: &str = "name=\"\"\nhorizon=\"1s\"\n[[service]]\nname=\"s\"\n[[population]]\n\
                         name=\"p\"\ntarget=\"s\"\narrivals=\"poisson:1\"\n";

fuzz_target!(|text: &str| {
    let files = |_: &str| -> io::Result<String> { Ok(text.to_owned()) };
    for text in [text, &[BEGINNING, text].concat()] {
        match file::read(text, &files) {
            Ok(scenario) => {
                let written = file::write(&scenario).expect("what was read is written");
                let read = file::read(&written, &files);
                assert_eq!(read.as_ref(), Ok(&scenario), "{written}");
            }
            Err(refusal) => assert!(!refusal.sentence.is_empty()),
        }
    }
});
