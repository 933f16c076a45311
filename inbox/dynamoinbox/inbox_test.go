package dynamoinbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

func newInbox(t *testing.T, s *subject) *Inbox {
	t.Helper()
	in, err := New(s.ob, s.client, "consumer", s.config(inbox.Config{BusyDelay: inbox.NoDelay}))
	require.NoError(t, err)
	return in
}

// process delivers the message m.
func process(t *testing.T, in inbox.Runner, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	t.Helper()
	return in.Process(t.Context(), message.NewMessage("m", nil), handle)
}

// TestI3_RefusedItemIsAFailure: what a handler adds is refused, as by a condition of its own.
// The message is not a duplicate, and comes again.
func TestI3_RefusedItemIsAFailure(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	in := newInbox(t, s)
	condition := "attribute_exists(pk)"
	handle := func(ctx context.Context) error {
		tx, _ := Tx(ctx)
		return tx.Add(types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(s.effects()), ConditionExpression: &condition,
			Item: item{"pk": &types.AttributeValueMemberS{Value: "account"}, "what": &types.AttributeValueMemberS{Value: "paid"}},
		}})
	}
	outcome, err := process(t, in, handle)
	require.Equal(t, inbox.OutcomeFailed, outcome)
	var refused *dynamooutbox.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Reasons, 2, "that of the record, and that of the handler")

	condition = "attribute_not_exists(pk)"
	outcome, err = process(t, in, handle)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
	outcome, err = process(t, in, handle)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
	effects, err := s.Effects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"paid"}, effects)
}

// TestI2_EndedTransactionIsNoticed: a handler that ends the transaction itself is told.
func TestI2_EndedTransactionIsNoticed(t *testing.T) {
	t.Parallel()
	in := newInbox(t, newSubject(t))
	outcome, err := process(t, in, func(ctx context.Context) error {
		tx, _ := Tx(ctx)
		tx.Rollback()
		return nil
	})
	require.Equal(t, inbox.OutcomeFailed, outcome)
	require.ErrorIs(t, err, inbox.ErrRollbackOnly)
	outcome, err = process(t, in, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
}

// TestI7_WhatIsThereWasProcessed: DynamoDB deletes by a time that it is told, and days later. Until
// then a message is known.
func TestI7_WhatIsThereWasProcessed(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	in := newInbox(t, s)
	outcome, err := process(t, in, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
	table, key := s.config(inbox.Config{}).Table, in.storeKey("m")
	out, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
	require.NoError(t, err)
	expires, err := time.ParseDuration(out.Item[attrExpires].(*types.AttributeValueMemberN).Value + "s") //nolint:forcetypeassert // it is one
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(30*24*time.Hour), time.Unix(0, 0).Add(expires), time.Minute)
	ttl, err := s.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	require.NoError(t, err)
	require.Equal(t, attrExpires, aws.ToString(ttl.TimeToLiveDescription.AttributeName))

	_, err = s.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, UpdateExpression: aws.String("SET #ttl = :past"),
		ExpressionAttributeNames: map[string]string{"#ttl": attrExpires}, ExpressionAttributeValues: item{":past": number(1)},
	})
	require.NoError(t, err)
	outcome, err = process(t, in, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
}

// dated answers as a server does whose clock is ahead of ours.
type dated struct {
	dynamodb.HTTPClient

	by time.Duration
}

func (d dated) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.HTTPClient.Do(r)
	if err == nil {
		answer.Header.Set("Date", time.Now().Add(d.by).UTC().Format(http.TimeFormat))
	}
	return answer, err
}

// TestI7_ClockThatIsBehind: a process whose clock is behind by more than what is remembered would have DynamoDB forget at once.
// The later one of both clocks counts.
func TestI7_ClockThatIsBehind(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	options := s.client.Options()
	options.HTTPClient = dated{options.HTTPClient, 60 * 24 * time.Hour}
	in, err := New(s.ob, dynamodb.New(options), "consumer", s.config(inbox.Config{BusyDelay: inbox.NoDelay}))
	require.NoError(t, err)
	outcome, err := process(t, in, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
	table := s.config(inbox.Config{}).Table
	out, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: in.storeKey("m")})
	require.NoError(t, err)
	expires, err := time.ParseDuration(out.Item[attrExpires].(*types.AttributeValueMemberN).Value + "s") //nolint:forcetypeassert // it is one
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), time.Unix(0, 0).Add(expires), time.Minute)
}

func (in *Inbox) storeKey(id string) item { return (&store{consumer: in.Consumer()}).keyOf(id) }

// TestI4_OutageOfTheServer: what DynamoDB answers if it has no capacity or does not work does not speak against the
// message; another answer does.
func TestI4_OutageOfTheServer(t *testing.T) {
	t.Parallel()
	in := newInbox(t, newSubject(t))
	cancelled := func(codes ...string) error {
		var reasons []types.CancellationReason
		for _, code := range codes {
			reasons = append(reasons, types.CancellationReason{Code: &code})
		}
		return &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	for _, c := range []struct {
		err     error
		against bool
	}{
		{&types.ProvisionedThroughputExceededException{}, false},
		{&types.InternalServerError{}, false},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, false},
		{&smithy.GenericAPIError{Code: "InvalidSignatureException", Message: "Signature expired"}, false},
		{cancelled("None", "ThrottlingError"), false},
		{&smithy.GenericAPIError{Code: "ValidationException", Fault: smithy.FaultClient}, true},
		{cancelled("ConditionalCheckFailed", "ThrottlingError"), true},
		{cancelled("TransactionConflict"), true},
	} {
		outcome, err := process(t, in, func(context.Context) error { return fmt.Errorf("handler: %w", c.err) })
		require.Equal(t, inbox.OutcomeFailed, outcome)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.against, inbox.ShouldPoison(err), err)
	}
}

// TestFor: handlers of a router are consumers of their own.
func TestFor(t *testing.T) {
	t.Parallel()
	in := newInbox(t, newSubject(t))
	for _, handler := range []string{"a", "b"} {
		own, err := in.For(handler)
		require.NoError(t, err)
		outcome, err := process(t, own, func(context.Context) error { return nil })
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeCommitted, outcome, handler)
	}
	_, err := in.For("")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestNew_RefusesWhatCannotWork names what it is.
func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for field, cfg := range map[string]Config{
		"Table": {}, "Retention": {Table: "t", Retention: time.Minute},
	} {
		_, err := New(s.ob, s.client, "c", cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" =")
	}
	_, err := New(nil, s.client, "c", Config{Table: "t"})
	require.ErrorContains(t, err, "ob =")
	_, err = New(s.ob, nil, "c", Config{Table: "t"})
	require.ErrorContains(t, err, "client =")
	_, err = New(s.ob, s.client, strings.Repeat("c", 256), Config{Table: "t"})
	require.ErrorContains(t, err, "255 bytes")
	_, err = New(s.ob, s.client, "c", Config{Table: "t", Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3}}})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig, "nothing counts attempts")

	missing, err := New(s.ob, s.client, "c", Config{Table: s.prefix + "missing"})
	require.NoError(t, err)
	_, err = process(t, missing, func(context.Context) error { return nil })
	require.ErrorIs(t, err, outbox.ErrNotMigrated)

	foreign := dynamotable.Table{Name: s.prefix + "foreign", Partition: dynamotable.Key{Name: "pk", Type: types.ScalarAttributeTypeS}}
	require.NoError(t, foreign.Setup(t.Context(), s.client))
	other, err := New(s.ob, s.client, "c", Config{Table: foreign.Name})
	require.NoError(t, err)
	require.ErrorContains(t, other.Setup(t.Context()), "must have the partition key pk (B) and no sort key, and has the partition key pk (S) and no sort key")
}

// TestI1_NothingButTheIDIsStored: of a message that was processed there is nothing to erase but its id, which
// makes a copy that comes again a duplicate.
func TestI1_NothingButTheIDIsStored(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	in := newInbox(t, s)
	const marker = "ann.smith@example.org"
	msg := message.NewMessage("m", []byte(marker))
	msg.Metadata.Set(outbox.HeaderKey, marker)
	outcome, err := in.Process(t.Context(), msg, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
	all, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(in.cfg.Table), ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	require.Len(t, all.Items, 2)
	for _, item := range all.Items {
		for name, value := range item {
			require.NotContains(t, fmt.Sprintf("%s", value), marker, name)
			if bytes, ok := value.(*types.AttributeValueMemberB); ok {
				require.NotContains(t, string(bytes.Value), marker, name)
			}
		}
		if item["ids"] != nil {
			require.Len(t, item, 2, "where ids come from")
		} else {
			require.Len(t, item, 4, "key, id, time, expiry")
		}
	}
	outcome, err = in.Process(t.Context(), msg, func(context.Context) error { return errors.New("runs again") })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
}

// TestI14_MarksOfManyPartitions: one update moves a hundred marks at most. A token that is not the one
// that was read moves none of the others either.
func TestI14_MarksOfManyPartitions(t *testing.T) {
	t.Parallel()
	in := newInbox(t, newSubject(t))
	of := driver.GroupTopic{Group: "g", Topic: "orders"}
	seen, err := in.Marks(t.Context(), of)
	require.NoError(t, err)
	marks := map[int32]driver.Mark{}
	for part := range int32(2*mostMarks + 1) {
		marks[part] = driver.Mark{Next: int64(part) << 33}
	}
	token, err := in.SetMarks(t.Context(), of, seen.History, marks)
	require.NoError(t, err)
	now, err := in.Marks(t.Context(), of)
	require.NoError(t, err)
	for part, m := range now.Partitions {
		require.Equal(t, driver.Mark{Next: int64(part) << 33, Token: token}, m)
	}
	require.Len(t, now.Partitions, len(marks))

	for part := range now.Partitions {
		now.Partitions[part] = driver.Mark{Next: 1, Token: token}
	}
	now.Partitions[2*mostMarks] = driver.Mark{Next: 1, Token: "another"}
	_, err = in.SetMarks(t.Context(), of, now.History, now.Partitions)
	require.ErrorIs(t, err, driver.ErrMarksMoved)
	now, err = in.Marks(t.Context(), of)
	require.NoError(t, err)
	require.EqualValues(t, 1<<33, now.Partitions[1].Next)
}
