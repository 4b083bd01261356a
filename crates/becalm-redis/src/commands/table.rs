//! Which commands are there, and what does it do to send each again?
//!
//! The names and flags are those of `COMMAND` of Redis 7.0 to 8.8 (redis.io, "Commands"); what a repetition does was read from
//! their pages and run twice against once, as `tests/commands` does it again.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::Repeat::{self, Dedicated, Freely, Once};
use super::arguments::{self, Arguments};

/// What the table says of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub rule: Rule,
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Is(Repeat),
    /// Its arguments decide.
    By(fn(Arguments<'_>) -> Repeat),
}

impl Rule {
    pub fn repeat(self, arguments: Arguments<'_>) -> Repeat {
        match self {
            Self::Is(repeat) => repeat,
            Self::By(decide) => decide(arguments),
        }
    }
}

/// The longest name.
const LONGEST: usize = 32;

/// The row of this command; that of its subcommand, where it has such.
pub(super) fn row(arguments: Arguments<'_>) -> Option<Row> {
    let mut words = arguments.from(0);
    let (first, second) = (words.next()?, words.next());
    let mut name = [0; LONGEST];
    let length = first.len();
    name.get_mut(..length)?.copy_from_slice(first);
    name[..length].make_ascii_uppercase();
    if let Some(row) = ROWS.get(&name[..length]) {
        return Some(*row);
    }
    let second = second?;
    let end = length + 1 + second.len();
    let rest = name.get_mut(length..end)?;
    rest[0] = b'|';
    rest[1..].copy_from_slice(second);
    rest.make_ascii_uppercase();
    ROWS.get(&name[..end]).copied()
}

pub(super) fn named(name: &str) -> Option<Row> {
    let name = name.to_ascii_uppercase().replace(' ', "|");
    ROWS.get(name.as_bytes()).copied()
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .flat_map(|group| group.commands.split_whitespace())
}

static ROWS: LazyLock<FxHashMap<&'static [u8], Row>> = LazyLock::new(|| {
    let rows = TABLE.iter().flat_map(|group| {
        let Group { rule, why, .. } = *group;
        let names = group.commands.split_whitespace();
        names.map(move |name| (name.as_bytes(), Row { rule, why }))
    });
    rows.collect()
});

/// Commands of which one thing is true.
struct Group {
    rule: Rule,
    why: &'static str,
    commands: &'static str,
}

const TABLE: &[Group] = &[
    Group {
        rule: Rule::Is(Freely),
        why: "asks only",
        commands: "ACL|CAT ACL|DRYRUN ACL|GENPASS ACL|GETUSER ACL|HELP ACL|LIST ACL|USERS ACL|WHOAMI CLIENT|GETNAME \
            CLIENT|GETREDIR CLIENT|HELP CLIENT|ID CLIENT|INFO CLIENT|LIST CLIENT|TRACKINGINFO \
            CLUSTER|COUNT-FAILURE-REPORTS CLUSTER|COUNTKEYSINSLOT CLUSTER|GETKEYSINSLOT CLUSTER|HELP \
            CLUSTER|INFO CLUSTER|KEYSLOT CLUSTER|LINKS CLUSTER|MYID CLUSTER|NODES CLUSTER|REPLICAS \
            CLUSTER|SHARDS CLUSTER|SLAVES CLUSTER|SLOTS COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS \
            COMMAND|GETKEYSANDFLAGS COMMAND|HELP COMMAND|INFO COMMAND|LIST CONFIG|GET CONFIG|HELP ECHO \
            FUNCTION|DUMP FUNCTION|HELP FUNCTION|LIST FUNCTION|STATS INFO LASTSAVE LATENCY|DOCTOR LATENCY|GRAPH \
            LATENCY|HELP LATENCY|HISTOGRAM LATENCY|HISTORY LATENCY|LATEST MEMORY|DOCTOR MEMORY|HELP \
            MEMORY|MALLOC-STATS MEMORY|STATS MODULE|HELP MODULE|LIST OBJECT|HELP PING PUBSUB|CHANNELS \
            PUBSUB|HELP PUBSUB|NUMPAT PUBSUB|NUMSUB PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB ROLE SCRIPT|EXISTS \
            SCRIPT|HELP SLOWLOG|GET SLOWLOG|HELP SLOWLOG|LEN TIME XGROUP|HELP XINFO|HELP",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "reads only",
        commands: "BITCOUNT BITFIELD_RO BITPOS DBSIZE DUMP EVAL_RO EVALSHA_RO EXISTS EXPIRETIME FCALL_RO GEODIST \
            GEOHASH GEOPOS GEORADIUS_RO GEORADIUSBYMEMBER_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HGET HGETALL \
            HKEYS HLEN HMGET HRANDFIELD HSCAN HSTRLEN HVALS KEYS LCS LINDEX LLEN LOLWUT LPOS LRANGE MEMORY|USAGE \
            MGET OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT PEXPIRETIME PFCOUNT PTTL RANDOMKEY \
            SCAN SCARD SDIFF SINTER SINTERCARD SISMEMBER SMEMBERS SMISMEMBER SORT_RO SRANDMEMBER SSCAN STRLEN \
            SUBSTR SUNION TOUCH TTL TYPE XINFO|CONSUMERS XINFO|GROUPS XINFO|STREAM XLEN XPENDING XRANGE \
            XREVRANGE ZCARD ZCOUNT ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX \
            ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION HTTL \
            HPTTL HEXPIRETIME HPEXPIRETIME",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same state; only the count in the reply tells less",
        commands: "DEL GEOADD HDEL HSET PERSIST PFADD SADD SREM UNLINK XACK XDEL ZREM ZREMRANGEBYLEX ZREMRANGEBYSCORE",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same reply; the time runs anew from the repetition; with NX, XX, GT or LT the reply may differ",
        commands: "EXPIRE PEXPIRE",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same state, same reply",
        commands: "EXPIREAT HMSET LSET MSET PEXPIREAT PFMERGE PSETEX SETEX SETRANGE XSETID",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same reply; a relative time runs anew",
        commands: "GETEX",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same script, same digest",
        commands: "SCRIPT|LOAD",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same state; the reply (the old bit) may differ",
        commands: "SETBIT",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same state; an error or 0 says that it is there or gone already (BUSYGROUP)",
        commands: "XGROUP|CREATE XGROUP|CREATECONSUMER XGROUP|DESTROY",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "same state with MAXLEN or MINID; the count tells less",
        commands: "XTRIM",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "as EXPIRE and PERSIST",
        commands: "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HPERSIST",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "as XACK, XDEL",
        commands: "XACKDEL XDELEX",
    },
    Group {
        rule: Rule::Is(Freely),
        why: "as DEL; compares first: the second answer is 0",
        commands: "DELEX",
    },
    Group {
        rule: Rule::By(arguments::acl_log),
        why: "asks only; RESET wipes what came in between",
        commands: "ACL|LOG",
    },
    Group {
        rule: Rule::By(arguments::bitfield),
        why: "the last value stays; INCRBY counts twice",
        commands: "BITFIELD",
    },
    Group {
        rule: Rule::By(arguments::store_second),
        why: "leaves what it leaves once, unless the destination is a source, too",
        commands: "BITOP",
    },
    Group {
        rule: Rule::By(arguments::georadius),
        why: "leaves what it leaves once, unless it stores what it reads",
        commands: "GEORADIUS GEORADIUSBYMEMBER",
    },
    Group {
        rule: Rule::By(arguments::store_first),
        why: "leaves what it leaves once, unless the destination is a source, too",
        commands: "GEOSEARCHSTORE SDIFFSTORE SINTERSTORE SUNIONSTORE ZDIFFSTORE ZINTERSTORE ZRANGESTORE ZUNIONSTORE",
    },
    Group {
        rule: Rule::By(arguments::lrem),
        why: "removes more, unless it removes all",
        commands: "LREM",
    },
    Group {
        rule: Rule::By(arguments::set),
        why: "the last value stays; with NX, XX, GET, KEEPTTL or a condition the reply decides",
        commands: "SET",
    },
    Group {
        rule: Rule::By(arguments::sort),
        why: "leaves what it leaves once, unless it stores what it reads",
        commands: "SORT",
    },
    Group {
        rule: Rule::By(arguments::xadd),
        why: "adds a second entry, or is refused under an id of its own; with IDMP it adds one",
        commands: "XADD",
    },
    Group {
        rule: Rule::By(arguments::xgroup_setid),
        why: "the last id stays; $ is another id by then",
        commands: "XGROUP|SETID",
    },
    Group {
        rule: Rule::By(arguments::xread),
        why: "reads only; with BLOCK it holds the connection",
        commands: "XREAD",
    },
    Group {
        rule: Rule::By(arguments::xreadgroup),
        why: "takes the next entries under id >, and the first stay pending; with another id it reads; with BLOCK it holds the connection",
        commands: "XREADGROUP",
    },
    Group {
        rule: Rule::By(arguments::zadd),
        why: "the last score stays; with INCR it counts twice",
        commands: "ZADD",
    },
    Group {
        rule: Rule::By(arguments::hash_fields),
        why: "leaves what it leaves once; with FNX or FXX the reply decides",
        commands: "HSETEX HGETEX",
    },
    Group {
        rule: Rule::By(arguments::msetex),
        why: "the last values stay; with NX or XX the reply decides",
        commands: "MSETEX",
    },
    Group {
        rule: Rule::Is(Once),
        why: "an operator's act: never repeated by itself",
        commands: "ACL|DELUSER ACL|LOAD ACL|SAVE ACL|SETUSER BGREWRITEAOF BGSAVE CLIENT|KILL CLIENT|PAUSE \
            CLIENT|UNBLOCK CLIENT|UNPAUSE CLUSTER|ADDSLOTS CLUSTER|ADDSLOTSRANGE CLUSTER|BUMPEPOCH \
            CLUSTER|DELSLOTS CLUSTER|DELSLOTSRANGE CLUSTER|FAILOVER CLUSTER|FLUSHSLOTS CLUSTER|FORGET \
            CLUSTER|MEET CLUSTER|REPLICATE CLUSTER|RESET CLUSTER|SAVECONFIG CLUSTER|SET-CONFIG-EPOCH \
            CLUSTER|SETSLOT CONFIG|RESETSTAT CONFIG|REWRITE CONFIG|SET FAILOVER FUNCTION|KILL LATENCY|RESET \
            MEMORY|PURGE MODULE|LOAD MODULE|LOADEX MODULE|UNLOAD REPLICAOF SAVE SCRIPT|DEBUG SCRIPT|FLUSH \
            SCRIPT|KILL SHUTDOWN SLAVEOF SLOWLOG|RESET",
    },
    Group {
        rule: Rule::Is(Once),
        why: "counts or appends twice",
        commands: "APPEND DECR DECRBY HINCRBY HINCRBYFLOAT INCR INCRBY INCRBYFLOAT LINSERT LPUSH LPUSHX RPUSH RPUSHX \
            ZINCRBY",
    },
    Group {
        rule: Rule::Is(Once),
        why: "the repetition fails or answers 0 although the first worked",
        commands: "COPY MIGRATE MOVE RENAME RESTORE RESTORE-ASKING SMOVE",
    },
    Group {
        rule: Rule::Is(Once),
        why: "for debugging",
        commands: "DEBUG PFDEBUG PFSELFTEST",
    },
    Group {
        rule: Rule::Is(Once),
        why: "a script does what it does: declare it repeatable, or send its _RO form",
        commands: "EVAL EVALSHA FCALL",
    },
    Group {
        rule: Rule::Is(Once),
        why: "wipes what others wrote in between",
        commands: "FLUSHALL FLUSHDB FUNCTION|DELETE FUNCTION|FLUSH",
    },
    Group {
        rule: Rule::Is(Once),
        why: "fails the second time without REPLACE",
        commands: "FUNCTION|LOAD FUNCTION|RESTORE",
    },
    Group {
        rule: Rule::Is(Once),
        why: "the value is in the lost reply",
        commands: "GETDEL GETSET HGETDEL",
    },
    Group {
        rule: Rule::Is(Once),
        why: "the reply decides, and a repetition answers \"not you\" (a lock that is held by nobody)",
        commands: "HSETNX MSETNX RENAMENX SETNX",
    },
    Group {
        rule: Rule::Is(Once),
        why: "moves a second element",
        commands: "LMOVE RPOPLPUSH",
    },
    Group {
        rule: Rule::Is(Once),
        why: "takes a second element; the first is lost with its reply",
        commands: "LMPOP LPOP RPOP SPOP ZMPOP ZPOPMAX ZPOPMIN",
    },
    Group {
        rule: Rule::Is(Once),
        why: "a position means something else the second time",
        commands: "LTRIM ZREMRANGEBYRANK",
    },
    Group {
        rule: Rule::Is(Once),
        why: "delivered twice",
        commands: "PUBLISH SPUBLISH",
    },
    Group {
        rule: Rule::Is(Once),
        why: "swaps back",
        commands: "SWAPDB",
    },
    Group {
        rule: Rule::Is(Once),
        why: "the first claim made them young: the repetition answers nothing and they stay pending; counts a delivery",
        commands: "XAUTOCLAIM XCLAIM",
    },
    Group {
        rule: Rule::Is(Once),
        why: "answers how many were pending, once",
        commands: "XGROUP|DELCONSUMER",
    },
    Group {
        rule: Rule::Is(Once),
        why: "counts twice",
        commands: "INCREX",
    },
    Group {
        rule: Rule::Is(Dedicated),
        why: "changes the state of the connection",
        commands: "ASKING AUTH CLIENT|CACHING CLIENT|NO-EVICT CLIENT|REPLY CLIENT|SETNAME CLIENT|TRACKING DISCARD EXEC \
            HELLO MULTI QUIT READONLY READWRITE RESET SELECT UNWATCH WATCH CLIENT|SETINFO CLIENT|NO-TOUCH",
    },
    Group {
        rule: Rule::Is(Dedicated),
        why: "holds the connection",
        commands: "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN WAIT WAITAOF",
    },
    Group {
        rule: Rule::Is(Dedicated),
        why: "turns the connection into a stream",
        commands: "MONITOR PSYNC REPLCONF SYNC",
    },
    Group {
        rule: Rule::Is(Dedicated),
        why: "turns the connection into one of messages",
        commands: "PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE",
    },
];
