package kafkasource

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

var (
	// ErrRevoked is the cause of a message's context that has ended because a
	// rebalance took its partition away and DrainTimeout was over.
	ErrRevoked = errors.New("leat: partition was revoked")

	// ErrSessionLost is the cause of a message's context that has ended because the group has
	// lost this member, or will soon: another may have its partitions. It is also the cause if a
	// member joins again because the offset of a partition was refused to it, or because the
	// topic was deleted, and perhaps created again.
	ErrSessionLost = errors.New("leat: session with the consumer group is lost")

	// errReread is logged if a session has ended because it was ahead of the database that
	// remembers its offsets (driver.ErrGap, driver.ErrNotAssigned), as after a failover that has
	// lost commits. The member joins again and continues at the offset that Config.Seek returns.
	errReread = errors.New("leat: session is ahead of the database")

	// errBatchResults is logged if the function of RunBatches returns neither nil nor one error
	// per message. The whole batch counts as failed.
	errBatchResults = errors.New("leat: a batch handler must return nil or one error a message")
)

// errClosed is also the cause of the contexts that Close has ended.
var errClosed = fmt.Errorf("%w: the Kafka subscriber", outbox.ErrClosed)

// errTopicReplaced is a cause if the topic's id is gone or its offsets went back. The member
// joins again, under the topic's new id if there is one.
var errTopicReplaced = fmt.Errorf("%w: the topic was deleted or created again", ErrSessionLost)
