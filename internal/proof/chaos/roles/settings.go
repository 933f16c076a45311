package roles

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Roles of processes.
const (
	// Bank makes transfers.
	Bank = "bank"
	// Relay carries the bank's outbox to Kafka.
	Relay = "relay"
	// Ledger books transfers once each and writes a receipt for each.
	Ledger = "ledger"
	// Exact carries the ledger's outbox to Kafka exactly once. Receipts carries it at least once, for
	// stores that do not support exactly once.
	Exact    = "exact"
	Receipts = "receipts"
	// Notifier has effects that are not in the inbox's transaction, deduplicated by Redis.
	Notifier = "notifier"
)

// Topics and groups of the run.
const (
	// TopicTransfers carries the transfers of the bank.
	TopicTransfers = "transfers"
	// TopicNotices carries the bank's notices.
	TopicNotices = "notices"
	// TopicReceipts carries the ledger's receipts for transfers.
	TopicReceipts = "receipts"
	// TopicPositions holds the positions of the exact relay.
	TopicPositions = "positions"
)

// Rules that a run breaks on purpose.
const (
	// AckBeforeCommit acknowledges a message before its effect is committed.
	AckBeforeCommit = "ack-before-commit"
	// NoInbox runs the ledger's handler without an inbox.
	NoInbox = "no-inbox"
	// IDCursor relays by using a number as a position.
	IDCursor = "id-cursor"
	// PublishBeforeCommit publishes a transfer inside its transaction.
	PublishBeforeCommit = "publish-before-commit"
	// NoMarks keeps the ledger's group where it is if the ledger's database goes back.
	NoMarks = "no-marks"
)

// Sabotages returns all rules that can be broken.
func Sabotages() []string {
	return []string{AckBeforeCommit, NoInbox, IDCursor, PublishBeforeCommit, NoMarks}
}

// Times that the roles and the driver agree on.
const (
	// RelayLease is the lease of the relays.
	RelayLease = 3 * time.Second
	// RelayPoll is the longest time between two polls of a relay that is not woken.
	RelayPoll = 200 * time.Millisecond
	// PublishTimeout bounds a relay's wait for Kafka, RedisTimeout the notifier's wait for Redis.
	PublishTimeout = 1500 * time.Millisecond
	RedisTimeout   = time.Second
	// NoticeLease is the lease of a message of the notifier.
	NoticeLease = 1500 * time.Millisecond
	// SessionTimeout is how long a consumer may be silent.
	SessionTimeout = 4 * time.Second
)

// IsRelay reports whether role relays.
func IsRelay(role string) bool { return role == Relay || role == Exact || role == Receipts }

// envSettings passes a process its settings, as JSON.
const envSettings = "LEAT_CHAOS_ROLE"

// Settings are the settings of a process.
type Settings struct {
	// Name is the name of the process, Role its role.
	Name, Role string
	// Store is the kind of its database. Database is the URL or path; see Opener.
	Store, Database string
	// Brokers are Kafka's own addresses. Kafka is the address of the proxy through which all of them are
	// reached.
	Brokers []string
	Kafka   string
	// Redis is the address of Redis.
	Redis string
	// Registry is the address of the schema registry. With one, events are in Avro and sealed, otherwise in
	// JSON.
	Registry string
	// Dir is where histories are kept.
	Dir string
	// Seed determines the actions of the bank.
	Seed uint64
	// Rate is how many transactions the bank begins per second. Accounts is how many accounts it has.
	Rate, Accounts int
	// Sabotage is the rule that is broken, if any.
	Sabotage string
	// Tail makes the bank's relays follow the change log.
	Tail bool
}

// Environment returns the settings as an entry of a process's environment.
func (s Settings) Environment() (string, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode settings: %w", err)
	}
	return envSettings + "=" + string(raw), nil
}

// FromEnvironment returns the settings of this process, and false if it is not a process of a run.
func FromEnvironment() (s Settings, ok bool, err error) {
	raw, ok := os.LookupEnv(envSettings)
	if !ok {
		return s, false, nil
	}
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return s, true, fmt.Errorf("decode %s: %w", envSettings, err)
	}
	return s, true, nil
}

// historyPath returns the path of the process's history.
func (s Settings) historyPath() string { return filepath.Join(s.Dir, s.Name+".jsonl") }

// Account returns the name of account n.
func Account(n int) string { return fmt.Sprintf("account-%04d", n) }

// Opening is the initial balance of each account.
const Opening = 1000
