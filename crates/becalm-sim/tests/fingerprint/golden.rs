//! What are the fingerprints? They change when a decision, the simulator or a scenario does: then a
//! test tells the new ones.

/// The fingerprint of this scenario; 0 for none.
pub fn of(scenario: &str) -> u64 {
    match scenario {
        "occ" => 0x0716_953e_845f_7bef,
        "herd" => 0x40e4_0079_5dd9_55ac,
        "clipped" => 0xc159_5066_e66e_05a9,
        "appointments" => 0x7c3d_b8ab_bf19_8393,
        "moments" => 0xf4a5_8667_f1c3_6be2,
        "flaky" => 0x901b_f3a7_eb96_7c6c,
        "blip" => 0x8a4c_c176_1395_f666,
        "layers" => 0x3910_7a90_bdac_502b,
        "cascade" => 0x7ccd_0f43_0146_9e57,
        "metastable" => 0x0dcb_4905_87ee_1c69,
        "trigger" => 0xec38_9cff_a5b3_8e09,
        "queue" => 0x6fe4_743f_06ae_c6ba,
        "loops" => 0xd3ad_2278_85c0_3fb4,
        "throttle" => 0x9585_7e43_bae9_6ad0,
        "small-clients" => 0xb838_fa88_4058_69f7,
        "fleet" => 0x9d0b_8e3e_6a61_2923,
        "deadline" => 0xa336_6179_6a29_fa27,
        "priority" => 0x9d31_fb71_5ac0_75b4,
        "cache" => 0x81c1_a8d1_1d5a_fade,
        "tiers" => 0x22af_f49b_8140_0d91,
        _ => 0,
    }
}
