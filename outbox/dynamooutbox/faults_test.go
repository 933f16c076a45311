package dynamooutbox_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

const (
	faultWriters = 3
	faultEach    = 20
	faultKeys    = 2
)

// write lets writers commit messages of few keys side by side.
func write(t *testing.T, ob *dynamooutbox.Outbox) {
	t.Helper()
	var group sync.WaitGroup
	for w := range faultWriters {
		group.Go(func() {
			for i := range faultEach {
				tx := ob.Begin()
				m := outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(i%faultKeys), Payload: []byte(fmt.Sprintf("%d/%d", w, i))}
				if err := errors.Join(ob.Enqueue(t.Context(), tx, m), tx.Commit(t.Context())); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	group.Wait()
}

// inversions counts the records that came behind a later one of their key.
func inversions(got []outbox.Record) int {
	n, last := 0, make(map[string]int64)
	for _, r := range got {
		if r.Seq < last[r.Key] {
			n++
		}
		last[r.Key] = max(last[r.Key], r.Seq)
	}
	return n
}

// TestFaults_NothingTwiceAndInOrder: transactions whose answers were lost or are 500s after their
// effect, conflicts, throttling, half batches and messages that a Query does not see yet, all
// at once. Each message is there once and a key comes in its order.
func TestFaults_NothingTwiceAndInOrder(t *testing.T) {
	t.Parallel()
	_, env := newOutbox(t, 2)
	f := &faultnet.Dynamo{Conflict: 7, Throttle: 23, Cut: 5, Fail: 6, Partial: 2, Hide: true}
	ob := through(t, env, f)
	write(t, ob)
	got := drain(t, ob, 7)
	require.Len(t, got, faultWriters*faultEach, "none lost, none twice")
	require.Zero(t, inversions(got))
	names := make(map[string]bool)
	for _, r := range got {
		names[string(r.Payload)] = true
	}
	require.Len(t, names, faultWriters*faultEach)
	for _, fault := range []string{
		faultnet.DynamoConflict, faultnet.DynamoThrottle, faultnet.DynamoCut, faultnet.DynamoFail, faultnet.DynamoPartial, faultnet.DynamoHide,
	} {
		require.Positive(t, f.Struck(fault), fault)
	}
}

// TestFaults_HiddenKeepsTheOrder: a Query that does not see all messages does not turn their
// order round, since each names the one before it. The control's do not.
func TestFaults_HiddenKeepsTheOrder(t *testing.T) {
	t.Parallel()
	require.Zero(t, inversionsHidden(t, ""))
}

func TestFaults_ControlWithoutPrevious(t *testing.T) {
	t.Parallel()
	require.Positive(t, inversionsHidden(t, "v"))
}

// inversionsHidden counts the inversions behind Queries that see half of what is new, and do
// without the attribute forget.
func inversionsHidden(t *testing.T, forget string) int {
	t.Helper()
	plain, env := newOutbox(t, 2)
	write(t, plain)
	f := &faultnet.Dynamo{Hide: true, Forget: forget}
	got := drain(t, through(t, env, f), 7)
	require.Len(t, got, faultWriters*faultEach)
	require.Positive(t, f.Struck(faultnet.DynamoHide))
	return inversions(got)
}

// TestFaults_ControlProducersClock is the design that many articles have: the sort key of a message is the time
// of the process that writes it, and a relay sends in the order of the table. Two processes whose
// clocks are 200 ms apart write a key in turns, each with the version of the business item as its condition.
func TestFaults_ControlProducersClock(t *testing.T) {
	t.Parallel()
	for apart, wantInOrder := range map[time.Duration]bool{0: true, 200 * time.Millisecond: false} {
		t.Run(apart.String(), func(t *testing.T) {
			t.Parallel()
			_, env := newOutbox(t, 1)
			client, closeIdle := connect(env.URL)
			t.Cleanup(closeIdle)
			const versions = 10
			for version := range versions {
				clock := time.Now().Add(-apart * time.Duration(version%2))
				require.NoError(t, writeByClock(t.Context(), client, env, version, clock))
			}
			out, err := client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: aws.String(env.Prefix + "outbox"), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "OUTBOX#order"}},
			})
			require.NoError(t, err)
			require.Len(t, out.Items, versions)
			inOrder := true
			for i, item := range out.Items {
				version, ok := item["version"].(*types.AttributeValueMemberN)
				require.True(t, ok)
				inOrder = inOrder && version.Value == strconv.Itoa(i)
			}
			require.Equal(t, wantInOrder, inOrder)
		})
	}
}

func writeByClock(ctx context.Context, client *dynamodb.Client, env *testenv.DynamoEnv, version int, clock time.Time) error {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	order := &types.Update{
		TableName: aws.String(env.Prefix + "outbox"), Key: map[string]types.AttributeValue{"pk": text("order"), "sk": number(0)},
		UpdateExpression: aws.String("SET version = :next"), ConditionExpression: aws.String("attribute_not_exists(pk) OR version = :now"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":now": number(int64(version - 1)), ":next": number(int64(version))},
	}
	event := &types.Put{TableName: aws.String(env.Prefix + "outbox"), Item: map[string]types.AttributeValue{
		"pk": text("OUTBOX#order"), "sk": number(clock.UnixNano()), "version": number(int64(version)),
	}}
	_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: order}, {Put: event}}})
	return err
}

// drain reads and settles all that is pending, in pages of limit.
func drain(t *testing.T, ob *dynamooutbox.Outbox, limit int) []outbox.Record {
	t.Helper()
	s := acquire(t, ob)
	var got []outbox.Record
	for {
		p, err := s.Read(t.Context(), limit)
		require.NoError(t, err)
		if len(p.Records) == 0 {
			require.False(t, p.Waiting)
			return got
		}
		got = append(got, p.Records...)
		require.NoError(t, s.Advance(t.Context(), p, len(p.Records)))
	}
}

// leaseTime is longer than any test.
const leaseTime = 10 * time.Minute
