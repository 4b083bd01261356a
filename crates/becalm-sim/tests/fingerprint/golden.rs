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
        "trigger" => 0x5feb_2682_470b_25a6,
        "queue" => 0xe5f0_1402_b270_50a8,
        "loops" => 0x38ba_69a9_0073_6d65,
        "throttle" => 0xd77f_a531_8a3b_3905,
        "small-clients" => 0x08bd_2aca_ec15_2c48,
        "fleet" => 0x2c34_953e_0236_7383,
        "deadline" => 0x1f9b_d349_9bbb_1edb,
        "priority" => 0xdc7d_4066_dad3_9395,
        "cache" => 0x6576_7549_5aa6_0465,
        "tiers" => 0x1478_b67f_f204_0d30,
        _ => 0,
    }
}
