//! Does a transaction take as many statements and round trips more than sqlx's own as the page says?

use crate::counted::beside_sqlxs_own;
use crate::server::Postgres;
use crate::within;

#[tokio::test]
async fn a_transaction_takes_one_round_trip_more_than_sqlxs_own() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let all = beside_sqlxs_own(&server).await;
        println!("statements and round trips more than sqlx's own: {all:#?}");
        let told = all.iter().map(|one| (one.resolve, [one.first, one.later]));
        let both_pools = |told| [told; 2];
        let expected = [
            ("Stop", [(1, 1), (1, 1)]),
            ("Marker", [(2, 1), (2, 1)]),
            ("Status", [(2, 2), (1, 1)]),
        ];
        let expected: Vec<_> = expected.into_iter().flat_map(both_pools).collect();
        assert_eq!(told.collect::<Vec<_>>(), expected);
    })
    .await;
}
