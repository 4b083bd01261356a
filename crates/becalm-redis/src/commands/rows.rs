//! Which commands are there, and what does it do to send each again?
//!
//! The names and flags are those of `COMMAND` of Redis 7.0 to 8.8 (redis.io, "Commands"); what a repetition does was read
//! from their pages, argument by argument, and `tests/live/generated.rs` runs them twice and once with any of them.

use super::Repeat::{self, Dedicated, Freely, Once};
use super::answers::Answer::{Again, Constant, Count, Decides, Differs, One};
use super::answers::{self, Answer};
use super::arguments::Arguments;
use super::options;
use super::row::{Row, Rule, Touching};
use super::touch::{self, Places, Touch};

/// Each row, and the commands that it is true of.
#[rustfmt::skip] // a table, a row a line
pub(super) const TABLE: &[(Row, &str)] = &[
    (asks(Touch::NOTHING),
        "ACL|CAT ACL|GENPASS ACL|HELP ACL|WHOAMI CLIENT|GETNAME CLIENT|HELP CLIENT|ID CLUSTER|HELP CLUSTER|KEYSLOT CLUSTER|MYSHARDID \
         CLUSTER|MYID COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS COMMAND|GETKEYSANDFLAGS COMMAND|HELP COMMAND|INFO \
         COMMAND|LIST CONFIG|HELP ECHO FUNCTION|HELP LASTSAVE LATENCY|HELP MEMORY|HELP MODULE|HELP OBJECT|HELP PING \
         PUBSUB|HELP ROLE SCRIPT|HELP SLOWLOG|HELP TIME XGROUP|HELP XINFO|HELP LOLWUT"),
    (asks(Touch::ASKS),
        "ACL|DRYRUN ACL|GETUSER ACL|LIST ACL|USERS CLIENT|GETREDIR CLIENT|INFO CLIENT|LIST CLIENT|TRACKINGINFO \
         CLUSTER|COUNT-FAILURE-REPORTS CLUSTER|COUNTKEYSINSLOT CLUSTER|GETKEYSINSLOT CLUSTER|INFO CLUSTER|LINKS \
         CLUSTER|NODES CLUSTER|REPLICAS CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS CONFIG|GET FUNCTION|DUMP \
         FUNCTION|LIST FUNCTION|STATS INFO LATENCY|DOCTOR LATENCY|GRAPH LATENCY|HISTOGRAM LATENCY|HISTORY \
         LATENCY|LATEST MEMORY|DOCTOR MEMORY|MALLOC-STATS MEMORY|STATS MODULE|LIST PUBSUB|CHANNELS PUBSUB|NUMPAT \
         PUBSUB|NUMSUB PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB SCRIPT|EXISTS SLOWLOG|GET SLOWLOG|LEN \
         CLUSTER|SLOT-STATS SCRIPT|SHOW"),
    (reads(Touch::reads(FIRST)),
        "BITCOUNT BITFIELD_RO BITPOS DUMP GEODIST GEOHASH GEOPOS GEORADIUS_RO GEORADIUSBYMEMBER_RO GEOSEARCH GET \
         GETBIT GETRANGE HGETALL HKEYS HLEN HRANDFIELD HSCAN HVALS LINDEX LLEN LPOS LRANGE SCARD SMEMBERS SRANDMEMBER \
         SSCAN STRLEN SUBSTR TYPE XLEN XPENDING XRANGE XREVRANGE ZCARD ZCOUNT ZLEXCOUNT ZRANDMEMBER ZRANGE \
         ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN"),
    (reads(Touch::reads(SECOND)),
        "MEMORY|USAGE OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT XINFO|CONSUMERS XINFO|GROUPS \
         XINFO|STREAM"),
    (reads(Touch::reads(Places::Keys(1))), "EXISTS LCS MGET PFCOUNT SDIFF SINTER SUNION TOUCH"),
    (reads(Touch::reads(MEMBERS)), "HEXISTS HGET HMGET HSTRLEN SISMEMBER SMISMEMBER ZMSCORE ZSCORE"),
    (reads(Touch::reads(Places::Words)), "SINTERCARD ZDIFF ZINTER ZINTERCARD ZUNION"),
    (reads(Touch::reads_ttl(FIRST)), "EXPIRETIME PEXPIRETIME TTL PTTL HTTL HPTTL HEXPIRETIME HPEXPIRETIME"),
    (reads(Touch::ASKS), "DBSIZE KEYS RANDOMKEY SCAN EVAL_RO EVALSHA_RO FCALL_RO SORT_RO"),
    (freely(Constant, Touch::sets(FIRST), SAME), "SETEX PSETEX"),
    (freely(Constant, Touch::sets(Places::Pairs), SAME), "MSET"),
    (freely(Constant, Touch::sets(FIELDS), SAME), "HMSET"),
    (freely(Constant, Touch::changes(FIRST), SAME), "XSETID"),
    (freely(Constant, Touch::changes(Places::Keys(1)), SAME), "PFMERGE"),
    (freely(Again, Touch::sets(FIRST), SAME), "SETRANGE"),
    (freely(Count(answers::keys), Touch::sets(Places::Keys(1)), LESS), "DEL UNLINK"),
    (freely(Count(answers::fields), Touch::sets(FIELDS), LESS), "HSET"),
    (freely(Count(answers::members), Touch::sets(MEMBERS), LESS), "HDEL SADD SREM ZREM"),
    (freely(Count(answers::ids), Touch::sets(FIRST), LESS), "XACK"),
    (freely(Count(answers::members), Touch::sets(FIRST), LESS), "XDEL"),
    (freely(One, Touch::sets(FIRST), WHO), "PFADD"),
    (freely(One, Touch::expires(FIRST), WHO), "PERSIST"),
    (freely(One, Touch::changes(FIRST), "same state; compares first: the second answer is 0"), "DELEX"),
    (freely(Differs, Touch::changes(FIRST), "same state; the count in the reply is another"),
        "ZREMRANGEBYLEX ZREMRANGEBYSCORE"),
    (freely_by(One, touch::expire,
        "the time runs anew from the repetition; a time that has passed deletes; with NX, GT or LT the reply may differ"),
        "EXPIRE PEXPIRE"),
    (freely(One, Touch::changes(FIRST),
        "same state; a time that has passed deletes; with NX, GT or LT the reply may differ"),
        "EXPIREAT PEXPIREAT"),
    (freely(Decides(answers::each_is_done), Touch::changes(FIRST), "as EXPIRE, for each field"),
        "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT"),
    (freely(Decides(answers::each_is_not_persistent), Touch::changes(FIRST), "as PERSIST, for each field"), "HPERSIST"),
    (freely(Decides(answers::each_is_done), Touch::changes(FIRST), "as XACK, XDEL, for each entry"), "XACKDEL XDELEX"),
    (freely(Decides(answers::old_bit), Touch::sets(FIRST), "same state; the reply (the old bit) may differ"), "SETBIT"),
    (freely(Again, Touch::LOADS, "same script, same digest"), "SCRIPT|LOAD"),
    (freely(Constant, Touch::changes(SECOND), "same state; an error says that it is there already (BUSYGROUP)"),
        "XGROUP|CREATE"),
    (freely(One, Touch::changes(SECOND), "same state; 0 says that it is there or gone already"),
        "XGROUP|CREATECONSUMER XGROUP|DESTROY"),
    (by(options::acl_log, Again, Touching::Is(Touch::NOTHING), "asks only; RESET wipes what came in between"),
        "ACL|LOG"),
    (by(options::bitfield, Decides(answers::old_field), Touching::Is(Touch::changes(FIRST)),
        "the last value stays; INCRBY counts twice"),
        "BITFIELD"),
    (by(options::store_second, Again, Touching::Is(Touch::changes(Places::Keys(2))), SOURCE), "BITOP"),
    (by(options::georadius, Again, Touching::Is(Touch::changes(Places::Words)), STORES), "GEORADIUS"),
    (by(options::georadius_by_member, Again, Touching::Is(Touch::changes(Places::Words)), STORES), "GEORADIUSBYMEMBER"),
    (by(options::store_first, Again, Touching::Is(Touch::changes(Places::Words)), SOURCE),
        "GEOSEARCHSTORE SDIFFSTORE SINTERSTORE SUNIONSTORE ZDIFFSTORE ZINTERSTORE ZRANGESTORE ZUNIONSTORE"),
    (by(options::lrem, Differs, Touching::Is(Touch::changes(FIRST)), "removes more, unless it removes all"), "LREM"),
    (by(options::set, Constant, Touching::Is(Touch::sets(FIRST)),
        "the last value stays; with NX, XX, GET or a condition the reply decides; what KEEPTTL keeps may have expired"),
        "SET"),
    (by(options::sort, Again, Touching::By(touch::sort), STORES), "SORT"),
    (by(options::xadd, Again, Touching::Is(Touch::changes(FIRST)),
        "adds a second entry, or is refused under an id of its own; with IDMP it adds one"),
        "XADD"),
    (by(options::xgroup_setid, Constant, Touching::Is(Touch::changes(SECOND)),
        "the last id stays; $ is another id by then"),
        "XGROUP|SETID"),
    (by(options::xread, Again, Touching::Is(Touch::reads(Places::Words)),
        "reads only; with BLOCK it holds the connection"),
        "XREAD"),
    (by(options::xreadgroup, Again, Touching::Is(Touch::NOTHING),
        "takes the next entries under id >, and the first stay pending; with another id it counts a delivery; with BLOCK it holds the connection"),
        "XREADGROUP"),
    (by(options::xtrim, Differs, Touching::Is(Touch::changes(FIRST)),
        "same state with an exact MAXLEN or MINID; ~ and LIMIT remove more"),
        "XTRIM"),
    (by(options::zadd, Count(answers::scores), Touching::By(touch::zadd),
        "the last score stays; with INCR it counts twice"),
        "ZADD"),
    (freely_by(Count(answers::positions), touch::geoadd, LESS), "GEOADD"),
    (by(options::getex, Decides(answers::is_there), Touching::By(touch::getex),
        "a relative time runs anew; a time that has passed deletes, and the value is in the lost reply"),
        "GETEX"),
    (by(options::hgetex, Decides(answers::are_there), Touching::Is(Touch::changes(FIRST)), "as GETEX, for each field"),
        "HGETEX"),
    (by(options::hsetex, Again, Touching::Is(Touch::sets(FIRST)),
        "leaves what it leaves once; with FNX or FXX the reply decides; what KEEPTTL keeps may have expired"),
        "HSETEX"),
    (by(options::msetex, Again, Touching::Is(Touch::sets(Places::Words)),
        "the last values stay; with NX or XX the reply decides; what KEEPTTL keeps may have expired"),
        "MSETEX"),
    (once("an operator's act: never repeated by itself"),
        "ACL|DELUSER ACL|LOAD ACL|SAVE ACL|SETUSER BGREWRITEAOF BGSAVE CLIENT|KILL CLIENT|PAUSE CLIENT|UNBLOCK \
         CLIENT|UNPAUSE CLUSTER|ADDSLOTS CLUSTER|ADDSLOTSRANGE CLUSTER|BUMPEPOCH CLUSTER|DELSLOTS \
         CLUSTER|DELSLOTSRANGE CLUSTER|FAILOVER CLUSTER|FLUSHSLOTS CLUSTER|FORGET CLUSTER|MEET CLUSTER|REPLICATE \
         CLUSTER|RESET CLUSTER|SAVECONFIG CLUSTER|SET-CONFIG-EPOCH CLUSTER|SETSLOT CONFIG|RESETSTAT CONFIG|REWRITE \
         CONFIG|SET FAILOVER FUNCTION|KILL LATENCY|RESET MEMORY|PURGE MODULE|LOAD MODULE|LOADEX MODULE|UNLOAD \
         REPLICAOF SAVE SCRIPT|DEBUG SCRIPT|FLUSH SCRIPT|KILL SHUTDOWN SLAVEOF SLOWLOG|RESET"),
    (once("counts or appends twice"),
        "APPEND DECR DECRBY HINCRBY HINCRBYFLOAT INCR INCRBY INCRBYFLOAT LINSERT LPUSH LPUSHX RPUSH RPUSHX ZINCRBY"),
    (once("the repetition fails or answers 0 although the first worked"),
        "COPY MIGRATE MOVE RENAME RESTORE RESTORE-ASKING SMOVE"),
    (once("a script does what it does: declare it repeatable, or send its _RO form"), "EVAL EVALSHA FCALL"),
    (once("wipes what others wrote in between"), "FLUSHALL FLUSHDB FUNCTION|DELETE FUNCTION|FLUSH"),
    (once("fails the second time without REPLACE"), "FUNCTION|LOAD FUNCTION|RESTORE"),
    (once("the value is in the lost reply"), "GETDEL GETSET HGETDEL"),
    (once("the reply decides, and a repetition answers \"not you\" (a lock that is held by nobody)"),
        "HSETNX MSETNX RENAMENX SETNX"),
    (once("takes a second element; the first is lost with its reply"), "LMPOP LPOP RPOP SPOP ZMPOP ZPOPMAX ZPOPMIN"),
    (once("a position means something else the second time"), "LSET LTRIM ZREMRANGEBYRANK"),
    (once("the first claim made them young: the repetition answers nothing and they stay pending; counts a delivery"),
        "XAUTOCLAIM XCLAIM"),
    (once("answers how many were pending, once"), "XGROUP|DELCONSUMER"),
    (dedicated("changes the state of the connection"),
        "ASKING AUTH CLIENT|CACHING CLIENT|NO-EVICT CLIENT|REPLY CLIENT|SETNAME CLIENT|TRACKING DISCARD EXEC HELLO \
         MULTI QUIT READONLY READWRITE RESET SELECT UNWATCH WATCH CLIENT|SETINFO CLIENT|NO-TOUCH CLIENT|CAPA CLIENT|IMPORT-SOURCE"),
    (dedicated("holds the connection"), "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN WAIT WAITAOF"),
    (dedicated("turns the connection into a stream"), "MONITOR PSYNC REPLCONF SYNC"),
    (dedicated("turns the connection into one of messages"),
        "PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE"),
    (once("for debugging"), "DEBUG PFDEBUG PFSELFTEST"),
    (once("moves a second element"), "LMOVE RPOPLPUSH"),
    (once("delivered twice"), "PUBLISH SPUBLISH"),
    (once("swaps back"), "SWAPDB"),
    (once("counts twice"), "INCREX"),
];

const SAME: &str = "same state, same reply";
const LESS: &str = "same state; only the count in the reply tells less";
const STORES: &str = "leaves what it leaves once, unless it stores what it reads";
const SOURCE: &str = "leaves what it leaves once, unless the destination is a source, too";
const WHO: &str = "same state; the reply says who changed it";

const FIRST: Places = Places::Key(1);
const SECOND: Places = Places::Key(2);
/// `HDEL key field ..`
const MEMBERS: Places = Places::Members(|_| 2, 1);
/// `HSET key field value ..`
const FIELDS: Places = Places::Members(|_| 2, 2);

const fn is(rule: Rule, answer: Answer, touch: Touching, why: &'static str) -> Row {
    Row {
        rule,
        answer,
        touch,
        why,
    }
}

const fn by(
    decide: fn(Arguments<'_>) -> Repeat,
    answer: Answer,
    touch: Touching,
    why: &'static str,
) -> Row {
    is(Rule::By(decide), answer, touch, why)
}

const fn freely(answer: Answer, touch: Touch, why: &'static str) -> Row {
    is(Rule::Is(Freely), answer, Touching::Is(touch), why)
}

const fn freely_by(answer: Answer, touch: fn(Arguments<'_>) -> Touch, why: &'static str) -> Row {
    is(Rule::Is(Freely), answer, Touching::By(touch), why)
}

const fn asks(touch: Touch) -> Row {
    freely(Answer::Again, touch, "asks only")
}

const fn reads(touch: Touch) -> Row {
    freely(Answer::Again, touch, "reads only")
}

const fn once(why: &'static str) -> Row {
    let touch = Touching::Is(Touch::NOTHING);
    is(Rule::Is(Once), Answer::Differs, touch, why)
}

const fn dedicated(why: &'static str) -> Row {
    let touch = Touching::Is(Touch::NOTHING);
    is(Rule::Is(Dedicated), Answer::Differs, touch, why)
}
