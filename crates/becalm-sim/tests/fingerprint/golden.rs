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
        "flaky" => 0x1ae0_0f4d_a0aa_adb0,
        "blip" => 0x6ed5_f684_eae8_c89e,
        "layers" => 0xfc3f_dcaa_4174_8bc8,
        "cascade" => 0x09f7_3333_e65e_0c8e,
        "metastable" => 0x5d52_2c33_aef3_a2f1,
        "trigger" => 0x5020_6806_b5bb_bdc4,
        "queue" => 0x43f1_e114_32ef_5381,
        "loops" => 0x0131_5ccb_64a2_c857,
        "throttle" => 0x8ba5_27a2_30fb_5cf8,
        "small-clients" => 0x141a_43c4_0cca_3060,
        "fleet" => 0x2c34_953e_0236_7383,
        "deadline" => 0xaf27_3777_f92f_f803,
        "priority" => 0xba27_9bf3_6643_9d63,
        "cache" => 0xe996_64cc_970a_1c67,
        "tiers" => 0xad4e_1b0d_2ee9_b0ba,
        _ => 0,
    }
}
