package dynamooutbox

import (
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/outbox"
)

// Outbox is one outbox in one table. It is safe for concurrent use; make one and keep it. It
// owns no goroutines and needs no Close.
type Outbox struct {
	db       *dynamodb.Client
	cfg      Config
	preparer outbox.Preparer
	numbers  numbers
	counters counters
	bell     bell
	seen     observations
	count    atomic.Pointer[counted] // nil until it was read
	recount  time.Duration           // the constant recount; shorter in tests
	session  atomic.Pointer[session] // the newest
}

var _ outbox.Enqueuer = (*Outbox)(nil)

// New returns the outbox that lives in cfg.Table. It returns an error that wraps
// outbox.ErrInvalidConfig if client is nil or cfg cannot work. It connects to nothing: call
// Setup once, for example when the service is deployed.
func New(client *dynamodb.Client, cfg Config) (*Outbox, error) {
	if client == nil {
		return nil, outbox.ConfigError("client", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Outbox{
		db: client, cfg: cfg, recount: recount,
		preparer: outbox.Preparer{MaxPayloadBytes: cfg.MaxPayloadBytes, Injector: cfg.Injector},
	}, nil
}
