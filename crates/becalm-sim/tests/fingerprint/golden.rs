//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x09fd_392f_793d_2721,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "appointments" => 0x7c3d_b8ab_bf19_8393,
        "moments" => 0x9c21_99c3_657a_3f6b,
        "flaky" => 0x4b8d_844d_babb_47f5,
        "blip" => 0x36b5_3d8f_a32b_26ee,
        "layers" => 0xcec8_c70a_0c5a_69d8,
        "cascade" => 0x9bd4_eb2b_95bd_4e02,
        "metastable" => 0x0e78_c9b6_f35e_46ca,
        "trigger" => 0xc274_bc06_b9d1_3063,
        "queue" => 0x7c16_94d9_35dd_2dd1,
        "loops" => 0x9d7d_626e_4bba_c5f6,
        "throttle" => 0x7964_5a45_0dc9_d7ad,
        "small-clients" => 0x4a38_1799_ac78_4c1c,
        "fleet" => 0x2c34_953e_0236_7383,
        "deadline" => 0xc71c_4013_1064_6793,
        "priority" => 0xcf03_98f1_c346_7cc8,
        "cache" => 0xae18_5961_40d7_d52a,
        "tiers" => 0x8d3f_0f7d_6132_be0a,
        _ => 0,
    }
}
