//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x1c52_a96f_f2a1_9f61,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "appointments" => 0x7c3d_b8ab_bf19_8393,
        "moments" => 0xf4a5_8667_f1c3_6be2,
        "flaky" => 0xc44c_2af9_664d_a436,
        "blip" => 0xbcfd_7645_a85f_1e9b,
        "layers" => 0x4cb6_71d1_9f73_3e30,
        "cascade" => 0xd4b1_562c_4d7e_c7bb,
        "metastable" => 0x285e_2804_605f_b633,
        "trigger" => 0x525b_bc89_0bb1_1dc5,
        "queue" => 0xe5f0_1402_b270_50a8,
        "loops" => 0x38ba_69a9_0073_6d65,
        "throttle" => 0x6ba5_469e_a601_e161,
        "small-clients" => 0x08bd_2aca_ec15_2c48,
        "fleet" => 0x2c34_953e_0236_7383,
        "deadline" => 0xdd61_fe5c_6782_816d,
        "priority" => 0x6705_c1e2_b11c_af52,
        "cache" => 0xefee_f6c3_df7f_4bcb,
        "tiers" => 0xf7cd_ffce_eda0_d58a,
        _ => 0,
    }
}
