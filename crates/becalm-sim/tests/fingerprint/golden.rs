//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x09fd_392f_793d_2721,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "moments" => 0x9c21_99c3_657a_3f6b,
        "flaky" => 0xbbdd_0721_0267_837c,
        "layers" => 0x3bcf_3894_4f8f_c907,
        "cascade" => 0xfc86_01d8_9163_91c3,
        "metastable" => 0x1a4c_a112_26a3_4205,
        "trigger" => 0x6548_ff08_d97b_9e4d,
        "queue" => 0x4786_aa76_2d4e_1e5e,
        "loops" => 0x9d7d_626e_4bba_c5f6,
        "throttle" => 0xa1c3_ff91_c1dc_ed47,
        "small-clients" => 0x4a38_1799_ac78_4c1c,
        "deadline" => 0xc71c_4013_1064_6793,
        "priority" => 0xc527_6e11_0e80_2597,
        "cache" => 0xb401_a1e0_9dc9_387f,
        _ => 0,
    }
}
