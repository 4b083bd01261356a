//! How does becalm compare with its peers, in one run on one machine?
#![forbid(unsafe_code)]

mod calls;
mod delays;
mod drive;
mod measure;
mod operation;
mod peers;
mod versions;

fn main() {
    let effort = if std::env::args().any(|a| a == "--quick") {
        measure::Effort::QUICK
    } else {
        measure::Effort::FULL
    };
    let mut cases = calls::cases();
    cases.extend(delays::cases());
    measure::run(&mut cases, effort);
    for case in &cases {
        println!(
            "{:?} {} {} {:.2} {:?}",
            case.group,
            case.name,
            case.note,
            case.figure(),
            case.allocations
        );
    }
}
