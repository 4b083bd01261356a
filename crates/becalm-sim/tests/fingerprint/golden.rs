//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x428d_c813_7f58_172a,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "moments" => 0x9c21_99c3_657a_3f6b,
        "flaky" => 0xfa87_535a_c3d7_e336,
        "layers" => 0x384d_4f4b_5376_54df,
        "cascade" => 0xd855_10a7_df49_ca63,
        "metastable" => 0xfa24_366b_fb9f_8319,
        "trigger" => 0x253e_b3bd_4a78_2b1c,
        "queue" => 0x47d0_fc36_535d_3219,
        "loops" => 0x2ef0_6127_422e_0585,
        "throttle" => 0x88aa_3e0c_d66b_819d,
        "small-clients" => 0x5fa8_3513_98c2_88f7,
        "deadline" => 0x58c9_1f5f_7ffb_d1c2,
        "priority" => 0xc0f2_1d70_f35f_2ef4,
        "cache" => 0x5026_a665_6106_c1c1,
        _ => 0,
    }
}
