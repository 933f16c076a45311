package brokertest_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// tableOf subscribes a group to the tables that Watermill keeps in db.
func tableOf(db sql.Beginner, schema sql.SchemaAdapter, offsets sql.OffsetsAdapter) connect {
	return func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		publisher, err := sql.NewPublisher(db, sql.PublisherConfig{SchemaAdapter: schema}, watermill.NopLogger{})
		require.NoError(t, err)
		pause, deadline := 10*time.Millisecond, 5*time.Second // till the deadline, what nobody takes keeps the group's lock
		subscriber, err := sql.NewSubscriber(db, sql.SubscriberConfig{
			ConsumerGroup: group, SchemaAdapter: schema, OffsetsAdapter: offsets, AckDeadline: &deadline,
			PollInterval: pause, ResendInterval: pause, RetryInterval: pause,
		}, watermill.NopLogger{})
		require.NoError(t, err)
		return publisher, subscriber
	}
}

// inTurn: subscribers of a group lock its position, so they read in order, one at a time.
var inTurn = tests.Features{GuaranteedOrder: true}

//leat:level 2
func TestPostgres(t *testing.T) {
	t.Parallel()
	db := sql.BeginnerFromPgx(testenv.Postgres(t).Pool)
	bytes := func(string) string { return "BYTEA" }
	run(t, inTurn, true, tableOf(db, sql.DefaultPostgreSQLSchema{GeneratePayloadType: bytes}, sql.DefaultPostgreSQLOffsetsAdapter{}))
}
