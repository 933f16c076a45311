package dynamooutbox_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// remake deletes the table of env and makes it again, with so many buckets.
func remake(t *testing.T, env *testenv.DynamoEnv, buckets int) *dynamooutbox.Outbox {
	t.Helper()
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	table := env.Prefix + "outbox"
	_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table})
	require.NoError(t, err)
	gone := dynamodb.NewTableNotExistsWaiter(client)
	require.NoError(t, gone.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &table}, time.Minute))
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: table})
	require.NoError(t, err)
	require.NoError(t, ob.Setup(t.Context(), buckets))
	return ob
}

// put enqueues n messages with a key each, and as many without one.
func put(t *testing.T, ob *dynamooutbox.Outbox, n int, id string) {
	t.Helper()
	for i := range n {
		enqueue(t, ob, outbox.Message{Topic: "t", Key: strconv.Itoa(i), ID: id + strconv.Itoa(i)}, outbox.Message{Topic: "t", ID: id + "-" + strconv.Itoa(i)})
	}
}

// settleAll settles all that a session reads until it comes to an end, and returns the ids.
func settleAll(t *testing.T, s driver.Session) (all []string) {
	t.Helper()
	for {
		p, err := s.Read(t.Context(), 100)
		require.NoError(t, err)
		if len(p.Records) == 0 {
			return all
		}
		for i := range p.Records {
			all = append(all, p.Records[i].ID)
		}
		require.NoError(t, s.Advance(t.Context(), p, len(p.Records)))
	}
}

func backlog(t *testing.T, ob *dynamooutbox.Outbox) int {
	t.Helper()
	stats, err := ob.Admin().Stats(t.Context())
	require.NoError(t, err)
	return int(stats.Groups[0].Slots[0].Backlog)
}

// TestO2_TableMadeAgain: what a producer enqueues that remembers the number of buckets of the table before is
// sent, in the order of its keys; and a relay that remembers it reads what others enqueue.
func TestO2_TableMadeAgain(t *testing.T) {
	t.Parallel()
	for name, buckets := range map[string][2]int{"fewer": {16, 4}, "more": {4, 16}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, env := newOutbox(t, buckets[0])
			put(t, old, 1, "before")
			require.NoError(t, acquire(t, old).Release(t.Context()))
			fresh := remake(t, env, buckets[1])
			const n = 20
			put(t, old, n, "old")
			put(t, fresh, n, "new")
			for _, ob := range []*dynamooutbox.Outbox{old, fresh} {
				s := acquire(t, ob)
				if ob == old {
					require.Equal(t, 4*n, backlog(t, fresh))
				}
				got := settleAll(t, s)
				require.Len(t, got, 4*n)
				for i := range n {
					require.Less(t, slices.Index(got, "old"+strconv.Itoa(i)), slices.Index(got, "new"+strconv.Itoa(i)))
				}
				put(t, old, n, "old")
				put(t, fresh, n, "new")
				require.Len(t, settleAll(t, s), 4*n, "the same session")
				require.NoError(t, s.Release(t.Context()))
				put(t, old, n, "old")
				put(t, fresh, n, "new")
			}
		})
	}
}

// TestO2_NumberOfBucketsIsReadAgain: after its time a producer asks again, so that every lap finds what it
// enqueues; and after its time a lap looks into all buckets.
func TestO2_NumberOfBucketsIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"producer": true, "relay": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, env := newOutbox(t, 16)
			if asks {
				old.Recount(0)
			}
			put(t, old, 1, "before")
			fresh := remake(t, env, 1)
			if !asks {
				fresh.Recount(0)
			}
			s := acquire(t, fresh)
			require.Empty(t, settleAll(t, s))
			put(t, old, 20, "old")
			require.Len(t, settleAll(t, s), 40)
		})
	}
}

// TestO2_RelayReadsTheNumberOfBuckets: a relay of a process that remembers fewer buckets polls all of them.
func TestO2_RelayReadsTheNumberOfBuckets(t *testing.T) {
	t.Parallel()
	old, env := newOutbox(t, 1)
	put(t, old, 1, "before")
	fresh := remake(t, env, 16)
	s := acquire(t, old)
	require.Empty(t, settleAll(t, s))
	put(t, fresh, 20, "new")
	require.Len(t, settleAll(t, s), 40)
}

// TestO9_LeaseOfATableMadeAgain: who leads in a table that is gone does not lead in the next.
func TestO9_LeaseOfATableMadeAgain(t *testing.T) {
	t.Parallel()
	old, env := newOutbox(t, 1)
	s := acquire(t, old)
	fresh := remake(t, env, 1)
	successor := acquire(t, fresh)
	require.ErrorIs(t, s.Renew(t.Context(), time.Minute), driver.ErrLeaseLost)
	require.NoError(t, successor.Renew(t.Context(), time.Minute))
}

// TestO2_BeginsInAnEmptyTable: nobody can know whether there was a full one. So the first relay says it
// where it may be so, and not beside messages.
func TestO2_BeginsInAnEmptyTable(t *testing.T) {
	t.Parallel()
	const text = "an outbox that has never had a message"
	for name, messages := range map[string]int{"empty": 0, "full": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, env := newOutbox(t, 2)
			put(t, made, messages, "m")
			client, closeIdle := connect(env.URL)
			t.Cleanup(closeIdle)
			log := testenv.NewLog()
			ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: env.Prefix + "outbox", Logger: log.Logger()})
			require.NoError(t, err)
			lead := func() {
				s := acquire(t, ob)
				settleAll(t, s)
				require.NoError(t, s.Release(t.Context()))
			}
			lead()
			if messages == 0 {
				log.Await(t, "INFO", text, "group=default", "docs/moves.md")
			}
			first := strings.Count(log.String(), text)
			require.Equal(t, 1-messages, first)
			lead()
			require.Equal(t, first, strings.Count(log.String(), text), "once")
		})
	}
}

// TestO2_PlaceOfATable: one that is made again, or restored, is another one.
func TestO2_PlaceOfATable(t *testing.T) {
	t.Parallel()
	ob, env := newOutbox(t, 1)
	place := func(ob *dynamooutbox.Outbox) driver.Place {
		src, err := ob.Source(dynamooutbox.SourceConfig{})
		require.NoError(t, err)
		is, err := src.(driver.Placed).Place(t.Context())
		require.NoError(t, err)
		return is
	}
	first := place(ob)
	require.Equal(t, env.Prefix+"outbox", first.Database)
	require.NotEmpty(t, first.Host)
	require.Equal(t, first, place(ob))
	require.NotEqual(t, first.Instance, place(remake(t, env, 1)).Instance)
}
