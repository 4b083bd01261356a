//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x428d_c813_7f58_172a,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "moments" => 0x9c21_99c3_657a_3f6b,
        "flaky" => 0x06bb_fb41_7db9_63a4,
        "layers" => 0xc099_32b7_ee96_5aa4,
        "cascade" => 0x3655_6adc_53d5_67ec,
        "metastable" => 0xb5b3_c9e7_1d91_73ea,
        "trigger" => 0xfebd_b998_2d78_2b89,
        "queue" => 0x9a09_6b04_9149_954c,
        "loops" => 0x8832_4cc3_b463_2db9,
        "throttle" => 0x6051_2407_fc7a_6963,
        "small-clients" => 0x9e18_43e7_f57c_5e08,
        "deadline" => 0x2ccf_e308_b290_a8de,
        "priority" => 0x8db5_a864_c337_4e24,
        "cache" => 0x280f_3a6a_eb88_8931,
        _ => 0,
    }
}
