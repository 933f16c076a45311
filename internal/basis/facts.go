package basis

import (
	"cmp"
	"fmt"
	"strings"
)

// Use is a fact in a store.
type Use struct {
	Store Store
	// Noted is where the earlier fact is kept, Seen where the current one is read.
	Noted, Seen string
	// At lists the places at which they are compared.
	At []Place
	// Test names the test that notices the change if no suite derives one from the table. Empty
	// otherwise.
	Test string
}

// Store is where positions, or the memory of an inbox, are kept.
type Store string

const (
	// PostgreSQL is pgoutbox.
	PostgreSQL Store = "PostgreSQL"
	// SQL is sqloutbox.
	SQL Store = "MySQL, MariaDB, SQLite"
	// Forwarder is wmforward.
	Forwarder Store = "Watermill's table in PostgreSQL"
	// DynamoDB is dynamooutbox.
	DynamoDB Store = "DynamoDB"
	// Memory is memoutbox.
	Memory Store = "memory"
	// Watermarks is pgwatermark.
	Watermarks Store = "offsets of an inbox in PostgreSQL"
	// Inboxes are the inboxes that remember ids.
	Inboxes Store = "inboxes that remember ids"
	// Records are the records of dedupe.
	Records Store = "records of dedupe"
	// Caches are the caches of twotier, in front of pginbox.
	Caches Store = "caches in front of an inbox in PostgreSQL"
)

// Place is where a fact is compared.
type Place string

const (
	// Begin is the start of a relay and of each of its terms, or the assignment of a partition.
	Begin Place = "begin"
	// Page is the opening of a page or a window, checked by a statement that runs anyway.
	Page Place = "page"
	// Claim is the claim of a message by an inbox, checked by a statement that runs anyway.
	Claim Place = "claim"
	// Sink is a position that a sink has kept.
	Sink Place = "sink"
	// Replay is the start of a replay, and its new connections.
	Replay Place = "replay"
	// Retention is a deletion by retention.
	Retention Place = "retention"
	// Rebase is an operator's answer to a change. The answer can be wrong in part, too.
	Rebase Place = "rebase"
	// Status is what operators look at: status and doctor.
	Status Place = "status"
)

// The facts, in the order in which they are compared.
var (
	// ErrOtherCluster is a position of another cluster: xids and snapshots of one mean nothing in
	// another.
	ErrOtherCluster = &FactError{
		Name: "Cluster", Class: Identity,
		Says: "the stored position belongs to another database cluster",
		Do:   "check the address; if the database was moved, and the former one is gone, stop the relays, then leat rebase each group with --start unsettled, after pg_upgrade with --keep-position; if it is a copy whose original goes on, the original sends all of it: run relays here only to other destinations, after leat rebase --start now",
		Uses: []Use{
			{PostgreSQL, "each position", "`pg_control_system()`", []Place{Begin, Sink, Replay, Retention, Rebase, Status}, ""},
			{Forwarder, "each position, Watermill's", "`pg_control_system()`, the oldest transaction under way", []Place{Begin}, "TestO2_RefusesAPositionThatItCannotContinue"},
		},
	}
	// ErrOtherDatabase is a position of another database of the same server, which has the same
	// cluster, files and numbers if it is a copy.
	ErrOtherDatabase = &FactError{
		Name: "Database", Class: Identity,
		Says: "the stored position belongs to another database of the server",
		Do:   "check the address; if this is a copy whose original goes on, the original sends all of it: run relays here only to other destinations, after leat rebase --start now; if the original is gone, stop the relays, then leat rebase each group",
		Uses: []Use{
			{PostgreSQL, "the group", "`pg_database`", []Place{Begin, Sink, Retention, Rebase, Status}, ""},
			{SQL, "the meta table", "`DATABASE()`, not on SQLite", []Place{Begin, Page, Replay, Retention, Status}, "TestO2_CopyInAnotherDatabaseIsRefused"},
		},
	}
	// ErrLogRestarted is a position of another log than the current one.
	ErrLogRestarted = &FactError{
		Name: "Log", Class: Identity,
		Says: "the log was truncated, restored or replaced since the position was stored, so that its numbers begin anew",
		Do:   "stop the relays, then leat rebase each group",
		Uses: []Use{
			{PostgreSQL, "the group", "the file of the sequence", []Place{Begin, Page, Sink, Retention, Rebase, Status}, ""},
			{SQL, "the meta table, the session", "a row of the log below all numbers", []Place{Begin, Page, Replay, Retention, Status}, ""},
		},
	}
	// ErrWentBack is a log whose numbers are behind a position.
	ErrWentBack = &FactError{
		Name: "Numbers", Class: Monotone,
		Says: "the log's numbers have gone back behind the stored position",
		Do:   "stop the relays, then leat rebase each group",
		Uses: []Use{
			{PostgreSQL, "each position", "the sequence", []Place{Begin, Page, Retention, Rebase, Status}, ""},
			{SQL, "the position", "the highest number, the floor of retention", []Place{Begin, Page, Status}, ""},
		},
	}
	// ErrNumberedTwice is a log that has reused numbers which a position has already passed.
	ErrNumberedTwice = &FactError{
		Name: "Rows", Class: Monotone,
		Says: "the log has given out numbers again that the stored position has passed",
		Do:   "stop the relays, then leat rebase each group with --start oldest",
		Uses: []Use{
			{PostgreSQL, "each position, its snapshot", "numbers of rows of later transactions", []Place{Begin, Page, Retention, Rebase, Status}, ""},
			{SQL, "the session", "the id of the row that was read last", []Place{Page}, ""},
		},
	}
	// ErrBehindSink is a database that has lost data, under a sink that keeps the positions itself.
	ErrBehindSink = &FactError{
		Name: "Sent", Class: Monotone,
		Says: "the database went back behind what was sent (a failover that lost commits, a restored backup)",
		Do:   "stop the relays, remove the group's positions from the sink, then leat rebase",
		Uses: []Use{
			{PostgreSQL, "the sink", "each position", []Place{Sink}, "O2_SeekRefusesWhatWasLost"},
			{Memory, "the sink", "the position", []Place{Sink}, "O2_SeekRefusesWhatWasLost"},
		},
	}
	// ErrSinkWentBack is a sink that has lost data.
	ErrSinkWentBack = &FactError{
		Name: "Sink", Class: Monotone,
		Says: "the sink's position is behind the stored one: the group was relayed through another sink since, or the sink has lost records",
		Do:   "if the group was relayed through another sink, stop its relays, remove its positions from the sink, and start the relays once so that they adopt the stored one (adopt_position); the latter alone if the positions were removed already; if neither, find out what the sink has lost",
		Uses: []Use{
			{PostgreSQL, "each position", "the sink", []Place{Sink}, "O2_SeekRefusesWhatIsBehind"},
			{Memory, "the position", "the sink", []Place{Sink}, "O2_SeekRefusesWhatIsBehind"},
		},
	}
	// ErrSubscribed is a log that a subscription writes to. The rows carry numbers and
	// transaction ids of the server where they were written, and both mean nothing here.
	ErrSubscribed = &FactError{
		Name: "Origin", Class: Identity,
		Says: "the log is the target of a logical replication",
		Do:   "run relays where it is written, or, if this server takes over, DROP SUBSCRIPTION, then leat rebase each group",
		Uses: []Use{
			{PostgreSQL, "–", "`pg_subscription_rel`", []Place{Begin, Replay, Retention, Rebase, Status}, "TestO2_TargetOfASubscriptionIsRefused"},
			{Forwarder, "–", "`pg_subscription_rel`", []Place{Begin}, "TestO2_TargetOfASubscriptionIsRefused"},
		},
	}
	// ErrSourceChanged is a topic whose log is not the one that an inbox has read.
	ErrSourceChanged = &FactError{
		Name: "Topic", Class: Identity,
		Says: "the topic is not the one that is remembered",
		Do:   "find out whether it was made again, or is that of another cluster, then leat inbox watermarks accept",
		Uses: []Use{{Watermarks, "each topic", "the broker's id of the topic", []Place{Begin, Claim}, ""}},
	}
	// ErrBeyondEnd is a log that ends before the offset of an inbox.
	ErrBeyondEnd = &FactError{
		Name: "End", Class: Monotone,
		Says: "the remembered offset is beyond the end of the log",
		Do:   "find out what the log has lost, then leat inbox watermarks set",
		Uses: []Use{{Watermarks, "each partition", "the end of the log", []Place{Begin}, ""}},
	}
	// ErrMissing is a log that begins behind the offset of an inbox.
	ErrMissing = &FactError{
		Name: "Unread", Class: Monotone,
		Says: "the log has dropped messages that were not processed",
		Do:   "find out what is lost, then leat inbox watermarks set",
		Uses: []Use{{Watermarks, "each partition", "the start of the log", []Place{Begin}, "TestI8_LogThatHasDroppedMessages"}},
	}
	// ErrGap is a session that is ahead of what its inbox remembers.
	ErrGap = &FactError{
		Name: "Processed", Class: Monotone,
		Says: "an earlier message of the partition was not processed",
		Do:   "nothing: the subscriber reads on where the inbox stands",
		Uses: []Use{{Watermarks, "the session", "each partition", []Place{Claim}, ""}},
	}
	// ErrGroupAhead is a consumer group whose offset is beyond its mark in the database of the inbox.
	ErrGroupAhead = &FactError{
		Name: "Offsets", Class: Monotone,
		Says: "the database went back behind the offsets of the consumer group",
		Do:   "nothing: the subscriber reads again from where the database stands; find out what else the database has lost",
		Uses: []Use{{Inboxes, "each partition", "the group's offset", []Place{Begin}, "TestI14_DatabaseThatWentBack"}},
	}
	// ErrNoMarks is a consumer group that once had marks, in a database that has none of them.
	ErrNoMarks = &FactError{
		Name: "Marks", Class: Identity,
		Says: "the database knows nothing of the consumer group, which has noted its offsets in one: it may be another database, or its inbox began anew",
		Do: "check the address; if the inbox of the former database is to go on, move its tables; if the database went back to before the group began, leat inbox rewind --to a time before that; " +
			"if it is right that this inbox remembers nothing, leat inbox rewind --to committed",
		Uses: []Use{{Inboxes, "the group's offset", "the marks", []Place{Begin}, "TestI14_DatabaseWithoutTheGroup"}},
	}
	// ErrOtherHistory is an entry of a cache about a commit that the database may have lost.
	ErrOtherHistory = &FactError{
		Name: "History", Class: Identity,
		Says: "the message was committed in another history of the database",
		Do:   "nothing: the database is asked",
		Uses: []Use{{Caches, "each entry", "`Inbox.Scope`", []Place{Claim}, ""}},
	}
)

// ErrOtherTopics is a group that will read other topics while messages of the former ones wait.
var ErrOtherTopics = &FactError{
	Name: "Topics", Class: Meaning,
	Says: "messages wait of topics that the group does not read any more",
	Do:   "let it read these topics, too, until they are sent, or leave them behind by leat groups set-topics",
	Uses: []Use{
		{PostgreSQL, "the lease of each slot", "`SourceConfig.Topics`", []Place{Begin}, "O2_NarrowerTopicsLeaveNothingBehind"},
		{SQL, "the group", "`SourceConfig.Topics`", []Place{Begin}, "O2_NarrowerTopicsLeaveNothingBehind"},
	},
}

// ErrRenamed is a group whose position has moved on under another name. A group that started from
// the beginning would send messages again, or leave some out.
var ErrRenamed = &FactError{
	Name: "Group", Class: Meaning,
	Says: "the group has another name now",
	Do:   "let Group be that name, or one that no group has had",
	Uses: []Use{
		{PostgreSQL, "the group that has the name now", "`SourceConfig.Group`", []Place{Begin}, "O2_RenamedGroupGoesOn"},
		{SQL, "the group that has the name now", "`SourceConfig.Group`", []Place{Begin}, "O2_RenamedGroupGoesOn"},
		{Memory, "the outbox", "`SourceConfig.Group`", []Place{Begin}, "O2_RenamedGroupGoesOn"},
	},
}

// ErrOtherIDs is a consumer whose ids come from another source than the remembered ids.
var ErrOtherIDs = &FactError{
	Name: "IDs", Class: Meaning,
	Says: "ids come from another source than those that are remembered, so that what was processed would run again",
	Do: "let IDFrom be the former source for as long as messages that were processed can come again, or give the consumer another name, under which all of them are new; " +
		"if the ids are the same, let IDFrom have the former Name",
	Uses: []Use{
		{Inboxes, "the consumer", "`IDFrom.Name`", []Place{Begin}, ""},
		{Records, "a record of the consumer", "`IDFrom.Name`", []Place{Begin, Claim}, "TestD3_OtherIDs"},
	},
}

// OtherIDs refuses ids of another source. A negative remembered means that the number of remembered
// ids is unknown.
func OtherIDs(then, now string, remembered int64) error {
	what := fmt.Sprintf("the source was %.200q and is %.200q", then, now)
	if remembered >= 0 {
		what = fmt.Sprintf("%s: %d or more are remembered", what, remembered)
	}
	return Refuse(ErrOtherIDs, what)
}

// ErrUnexpected is an outbox elsewhere than the operator has configured.
var ErrUnexpected = &FactError{
	Name: "Place", Class: Identity,
	Says: "the database is not the one that is expected",
	Do:   "check the address: this may be a copy, whose original sends all of it; if the database was moved, state the new place in expect",
	Uses: []Use{
		{PostgreSQL, "`relay.Config.Expect`", "address, `current_database()`, `pg_control_system()`", []Place{Begin}, "TestO2_UnexpectedPlaceIsRefused"},
		{Forwarder, "`relay.Config.Expect`", "address, `current_database()`, `pg_control_system()`", []Place{Begin}, "TestO2_PlaceOfASource"},
		{DynamoDB, "`relay.Config.Expect`", "account and region, table, id of the table", []Place{Begin}, "TestO2_PlaceOfATable"},
		{SQL, "`relay.Config.Expect`", "address, `DATABASE()`, `server_uuid`", []Place{Begin}, "TestO2_UnexpectedPlaceIsRefused"},
	},
}

// Facts returns all facts.
func Facts() []*FactError {
	return []*FactError{
		ErrOtherCluster, ErrOtherDatabase, ErrLogRestarted, ErrWentBack, ErrNumberedTwice, ErrBehindSink, ErrSinkWentBack, ErrSubscribed,
		ErrSourceChanged, ErrBeyondEnd, ErrMissing, ErrGap, ErrGroupAhead, ErrNoMarks,
		ErrOtherHistory, ErrOtherTopics, ErrRenamed, ErrOtherIDs, ErrUnexpected,
	}
}

// Find returns the fact that a text is about. The text is the description in status, or an error.
func Find(text string) (*FactError, bool) {
	for _, f := range Facts() {
		if strings.Contains(text, f.Says) {
			return f, true
		}
	}
	return nil, false
}

// Check returns the name of the fact's check in a store's suite, without the place.
func (f *FactError) Check(s Store) string {
	rule := cmp.Or(map[Store]string{Watermarks: "I8", Caches: "I9", Inboxes: "I1"}[s], "O2")
	return rule + "_Moved" + f.Name
}

// In returns how a store uses the fact.
func (f *FactError) In(s Store) (Use, bool) {
	for _, u := range f.Uses {
		if u.Store == s {
			return u, true
		}
	}
	return Use{}, false
}
