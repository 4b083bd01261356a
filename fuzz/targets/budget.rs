//! Budgets: what is read is within its ranges, written back and read again as the same.
#![no_main]

use becalm::Budget;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(budget) = text.parse::<Budget>() {
        assert_eq!(budget.validate(), Ok(()));
        assert_eq!(budget.to_string().parse(), Ok(budget), "{budget}");
    }
});
