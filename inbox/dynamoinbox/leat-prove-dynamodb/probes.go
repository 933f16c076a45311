package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

const (
	engine = "this server does not work as DynamoDB does here: leat cannot keep what it promises on it"
	past   = "connect leat to DynamoDB itself, in the table's own region, past caches and proxies"
)

// Probes implements prover.Server.
func (s *server) Probes() []prover.Probe {
	reads, conditions, whole := "reads.consistent", "writes.conditional", "transactions.whole"
	roots := []string{reads, conditions}
	transactions := []string{reads, conditions, whole}
	return []prover.Probe{
		prover.NewProbe(reads, "O2 O5 O12 I1 I7", nil, past, s.readsConsistent),
		prover.NewProbe(conditions, "O9 O14", []string{reads}, engine, s.writesConditional),
		prover.NewProbe(whole, "O1 O3 O5 I2", roots, engine, s.transactionsWhole),
		prover.NewProbe("transactions.reasons", "O5 I1 I3", transactions, engine, s.transactionsReasons),
		prover.NewProbe("transactions.token", "O1 O4 I2", transactions, engine, s.transactionsToken),
		prover.NewProbe("pages", "O2 O5 O10", roots, engine, s.pages),
		prover.NewProbe("sizes", "O1", transactions, "send less: set MaxPayloadBytes, and enqueue fewer messages in a transaction", s.sizes),
		prover.NewProbe("expiry", "I7", nil, "switch TTL on for the tables of inboxes and of dynamodedupe, by the attribute ttl, and off for outboxes", s.expiry),
		prover.NewProbe("clock", "O14 I7", nil, "leases and TTL go by the Date of answers: it must be there, and the same by all servers; set this machine's clock", s.clock),
		prover.NewProbe("stream", "latency", nil, "without a stream relays poll: see RunBell, and the rights of the bell", s.streamRings),
		prover.NewProbe("claim.once", "I1 I3 I5", transactions, engine, s.claimOnce),
		prover.NewProbe("leat.check", "O2 O3 O12", append(transactions, "pages"), "see what Setup, Check and a relay say", s.leatCheck),
	}
}

// readers is how many clients look for a cache or another server, which may be met by some connections only.
// On a slow server they look less often: readFor is the time after which they have looked enough.
const readers, readFor = 10, 3 * time.Second

// readsConsistent reads items right after they were written by another client, in the four forms of leat's
// reads. A request is the same each time, so that a cache has an answer.
func (s *server) readsConsistent(t *prover.Trial) {
	w := s.hand(t)
	shapes := []struct {
		name string
		read func(h hand, key item) (item, error)
	}{
		{"an item by its key", func(h hand, key item) (item, error) {
			out, err := h.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: h.table, Key: key, ConsistentRead: aws.Bool(true)})
			if err != nil {
				return nil, err
			}
			return out.Item, nil
		}},
		{"items by their keys", func(h hand, key item) (item, error) {
			out, err := h.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				*h.table: {Keys: []item{key}, ConsistentRead: aws.Bool(true)},
			}})
			if err != nil || len(out.Responses[*h.table]) == 0 {
				return nil, err
			}
			return out.Responses[*h.table][0], nil
		}},
		{"a partition", func(h hand, key item) (item, error) {
			all, err := query(t.Context(), h.db, h.table, textOf(key, "pk"), 0)
			if err != nil || len(all) == 0 {
				return nil, err
			}
			return all[0], nil
		}},
		{"items in a transaction", func(h hand, key item) (item, error) {
			out, err := h.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: h.table, Key: key}},
			}})
			if err != nil || len(out.Responses) == 0 {
				return nil, err
			}
			return out.Responses[0].Item, nil
		}},
	}
	const rounds = 3
	began, tries, missed := time.Now(), atomic.Int64{}, make([]atomic.Int64, len(shapes))
	var steps []func()
	for n, r := range s.hands(t, readers) {
		key := at(fmt.Sprintf("reads#%d", n), 1)
		steps = append(steps, func() {
			for v := range int64(rounds) {
				if v > 1 && time.Since(began) > readFor { // a cache has an answer from the second time on
					return
				}
				tries.Add(1)
				i := item{"pk": key["pk"], "sk": key["sk"], "v": number(v + 1)}
				w.put(i)
				for at, shape := range shapes {
					got, err := shape.read(r, key)
					fail.If(refused(err))
					if numberOf(got, "v") != v+1 {
						missed[at].Add(1)
					}
				}
			}
		})
	}
	t.Together(steps...)
	for at, shape := range shapes {
		if n := missed[at].Load(); n > 0 {
			t.Broken("did not see what was written before: %d of %d consistent reads of %s", n, tries.Load(), shape.name)
		}
	}
}

// writers is how many clients write the same item at the same time.
const writers = 8

// writesConditional writes items that do not exist yet, and items that have not changed: one of all writers
// may succeed.
func (s *server) writesConditional(t *prover.Trial) {
	all := s.hands(t, writers)
	const rounds = 5
	for what, is := range map[string]struct {
		pk        func(round int) string
		condition string
	}{
		"write an item that does not exist": {func(round int) string { return fmt.Sprintf("new#%d", round) }, "attribute_not_exists(pk)"},
		"expect the same value":             {func(int) string { return "changed" }, "v = :before"},
	} {
		if is.pk(0) == "changed" {
			first := at("changed", 1)
			first["v"] = number(0)
			all[0].put(first)
		}
		var mute atomic.Bool
		for round := range rounds {
			var mu sync.Mutex
			var winners []string
			steps := make([]func(), writers)
			for n, h := range all {
				steps[n] = func() {
					put, me := at(is.pk(round), 1), fmt.Sprintf("%d/%s", n, prover.Unique())
					put["v"], put["w"] = number(int64(round)+1), text(me)
					var values item
					if is.pk(0) == "changed" {
						values = item{":before": number(int64(round))}
					}
					there, won, err := h.attempt(put, is.condition, values)
					fail.If(err)
					if !won && there == nil {
						mute.Store(true)
					}
					if won || textOf(there, "w") == me { // the SDK has sent it again: the first answer was lost
						mu.Lock()
						defer mu.Unlock()
						winners = append(winners, me)
					}
				}
			}
			t.Together(steps...)
			if len(winners) != 1 {
				t.Broken("of %d clients that %s at the same time %d succeed", writers, what, len(winners))
				break
			}
			if got := textOf(all[round%writers].get(at(is.pk(round), 1)), "w"); got != winners[0] {
				t.Broken("a write was answered as done, and another one is there")
				break
			}
		}
		if mute.Load() {
			t.Limited("a condition that fails does not return the item that is there: leases and records of dedupe change hands late")
		}
	}
}

// transactionsWhole writes several items at once, in a transaction that fails and in many that succeed.
func (s *server) transactionsWhole(t *prover.Trial) {
	a, b := s.hand(t), s.hand(t)
	_, err := a.transact(a.putOf(at("whole", 1)), types.TransactWriteItem{Put: &types.Put{
		TableName: a.table, Item: at("whole", 2), ConditionExpression: aws.String("attribute_exists(pk)"),
	}})
	if err == nil {
		t.Broken("a transaction with a condition that fails is answered as done")
	} else if codeOf(err) != "TransactionCanceledException" {
		fail.Now(err)
	}
	for sk := range int64(2) {
		if b.get(at("whole", sk+1)) != nil {
			t.Broken("of a transaction with a condition that fails item %d of 2 is written", sk+1)
		}
	}

	const rounds = 20
	halves, done := atomic.Int64{}, make(chan struct{})
	keys := []item{at("halves", 1), at("halves", 2)}
	t.Together(func() {
		defer close(done)
		for v := range int64(rounds) {
			_, err := a.transact(a.setOf(keys[0], v+1), a.setOf(keys[1], v+1))
			fail.If(err)
		}
	}, func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			out, err := b.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: b.table, Key: keys[0]}}, {Get: &types.Get{TableName: b.table, Key: keys[1]}},
			}})
			if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok && busy(cancelled.CancellationReasons) {
				continue
			}
			fail.If(refused(err))
			if len(out.Responses) != 2 || numberOf(out.Responses[0].Item, "v") != numberOf(out.Responses[1].Item, "v") {
				halves.Add(1)
			}
		}
	})
	if n := halves.Load(); n > 0 {
		t.Broken("a read in a transaction has seen half of another one, %d times", n)
	}
}

// transactionsReasons checks what the error of a transaction says: producers take the number of a key from
// it, and inboxes know a duplicate by it.
func (s *server) transactionsReasons(t *prover.Trial) {
	h := s.hand(t)
	there := at("reasons", 2)
	there["v"] = number(7)
	h.put(there)
	reasons, err := h.transact(h.putOf(at("reasons", 1)), types.TransactWriteItem{Put: &types.Put{
		TableName: h.table, Item: at("reasons", 2), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, h.putOf(at("reasons", 3)))
	if err == nil {
		t.Broken("a transaction with a condition that fails is answered as done")
		return
	}
	if codeOf(err) != "TransactionCanceledException" {
		fail.Now(err)
	}
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		if codes[i] = aws.ToString(r.Code); codes[i] == "" {
			codes[i] = "None"
		}
	}
	if fmt.Sprint(codes) != "[None ConditionalCheckFailed None]" {
		t.Broken("of a transaction whose item 2 of 3 is refused the error has the reasons %v", codes)
		return
	}
	if numberOf(reasons[1].Item, "v") != 7 {
		t.Broken("the error of a transaction does not return the item that is there")
	}
}

// transactionsToken sends a transaction twice, with one token: the answer to the first may be lost. The
// request is the same to the byte, since no map has two entries.
func (s *server) transactionsToken(t *prover.Trial) {
	h := s.hand(t)
	key := item{"pk": &types.AttributeValueMemberB{Value: []byte("token")}}
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(prover.Unique() + prover.Unique()),
		TransactItems: []types.TransactWriteItem{{Update: &types.Update{
			TableName: s.table(inboxTable), Key: key, UpdateExpression: aws.String("ADD v :one"), ExpressionAttributeValues: item{":one": number(1)},
		}}},
	}
	for range 2 {
		_, err := h.db.TransactWriteItems(t.Context(), in)
		fail.If(refused(err))
	}
	h.table = s.table(inboxTable)
	if n := numberOf(h.get(key), "v"); n != 1 {
		t.Broken("a transaction that was sent twice with one token was carried out %d times", n)
	}
}

// pages reads and deletes as relays do: numbers of 63 bits, by pages and in batches.
func (s *server) pages(t *prover.Trial) {
	h := s.hand(t)
	const items, page, first = 60, 7, int64(1)<<62 + 1
	var puts, deletes []types.WriteRequest
	for n := range int64(items) {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: at("pages", first+n)}})
		deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: at("pages", first+n)}})
	}
	h.write(puts)
	all, err := query(t.Context(), h.db, h.table, "pages", page)
	fail.If(refused(err))
	if len(all) != items {
		t.Broken("of %d items that were written in batches %d are read by pages", items, len(all))
		return
	}
	for n, i := range all {
		if got, want := numberOf(i, "sk"), first+int64(n); got != want {
			t.Broken("in the order of sort keys item %d is %d in place of %d", n, got, want)
			return
		}
	}
	h.write(deletes)
	left, err := query(t.Context(), h.db, h.table, "pages", 0)
	fail.If(refused(err))
	if len(left) > 0 {
		t.Broken("of %d items that were deleted in batches %d are there", items, len(left))
	}
}

// The largest payload of a message, and the most items of a transaction, as DynamoDB takes them.
const largest, most = 350 << 10, 100

// sizes sends the largest payload and the longest transaction that leat accepts. 4 MB in a transaction are
// not tried: a new table lacks the capacity.
func (s *server) sizes(t *prover.Trial) {
	h := s.hand(t)
	large := at("large", 1)
	large["p"] = &types.AttributeValueMemberB{Value: bytes.Repeat([]byte("x"), largest)}
	many := make([]types.TransactWriteItem, most)
	for n := range many {
		many[n] = h.putOf(at("many", int64(n)+1))
	}
	for what, items := range map[string][]types.TransactWriteItem{
		fmt.Sprintf("with a payload of %d bytes", largest): {h.putOf(large)},
		fmt.Sprintf("of %d items", most):                   many,
	} {
		_, err := h.transact(items...)
		if refusal, ok := errors.AsType[prover.RefusedError](err); ok && !refusal.Rights {
			t.Limited("a transaction %s is refused: %s", what, err)
			continue
		}
		fail.If(err)
	}
}

// expiry checks what the tables delete by themselves: what an inbox has remembered for long enough, and
// nothing of an outbox.
func (s *server) expiry(t *prover.Trial) {
	h := s.hand(t)
	of := func(what string) string {
		out, err := h.db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: s.table(what)})
		fail.If(refused(err))
		d := out.TimeToLiveDescription
		if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
			return ""
		}
		return aws.ToString(d.AttributeName)
	}
	if by := of(outboxTable); by != "" {
		t.Broken("the table of an outbox is created with a TTL, of %s: messages may be deleted before they are sent", by)
	}
	if by := of(inboxTable); by != "ttl" {
		t.Limited("the table of an inbox has no TTL, although it was asked for: what is remembered is never deleted")
	}
}

// grain is how much the times of two servers may differ: each has whole seconds.
const grain = 2 * time.Second

// clock compares the times of the answers, and this machine's with them.
func (s *server) clock(t *prover.Trial) {
	all := s.hands(t, 2)
	var least, greatest time.Duration
	for n := range 6 {
		before := time.Now()
		out, err := all[n%2].db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: s.table(shopTable), Key: at("clock", 1), ConsistentRead: aws.Bool(true)})
		fail.If(refused(err))
		theirs, ok := middleware.GetServerTime(out.ResultMetadata)
		if !ok {
			t.Limited("answers have no Date: dynamodedupe cannot work, and functions wait for the lease of a relay that has died")
			return
		}
		ahead := theirs.Sub(before.Add(time.Since(before) / 2))
		if n == 0 {
			least, greatest = ahead, ahead
		}
		least, greatest = min(least, ahead), max(greatest, ahead)
		t.Pause(300 * time.Millisecond)
	}
	if apart := greatest - least; apart > grain {
		t.Broken("the times of two answers are %s apart: a lease may be taken over while its holder lives", apart.Round(time.Second))
		return
	}
	switch ahead := least + (greatest-least)/2; {
	case ahead > grain:
		t.Limited("this machine's clock is %s behind", ahead.Round(time.Second))
	case ahead < -grain:
		t.Limited("this machine's clock is %s ahead", -ahead.Round(time.Second))
	}
}

// streamWithin is how long a stream may take to show an item.
const streamWithin = 5 * time.Second

// streamRings reads the stream of a table as the bell does.
func (s *server) streamRings(t *prover.Trial) {
	if s.streamErr != nil {
		t.Limited("a stream cannot be switched on: %s", s.streamErr)
		return
	}
	h := s.hand(t)
	var mine prover.Wires
	client, end := s.http(&mine)
	t.Later(end)
	db := dynamodbstreams.New(dynamodbstreams.Options{
		Region: s.options.Region, Credentials: s.options.Credentials, BaseEndpoint: s.options.BaseEndpoint, HTTPClient: client,
	})
	h.put(at("stream", 1))
	var last error
	if rung := t.Soon(streamWithin, func() (rung bool) {
		rung, last = s.rings(t.Context(), db)
		return rung
	}); rung {
		return
	}
	fail.If(t.Context().Err())
	t.Limited("what is written is not in the table's stream after %s", streamWithin)
	if last != nil {
		t.Limited("the last error: %s", last)
	}
}

// rings reports whether the stream has an item.
func (s *server) rings(ctx context.Context, db *dynamodbstreams.Client) (bool, error) {
	is, err := db.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &s.stream})
	if err != nil || is.StreamDescription == nil {
		return false, err
	}
	for _, shard := range is.StreamDescription.Shards {
		from, err := db.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &s.stream, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return false, err
		}
		out, err := db.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: from.ShardIterator})
		if err != nil {
			return false, err
		}
		if len(out.Records) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// claimOnce claims the same ids in several sessions at the same time.
func (s *server) claimOnce(t *prover.Trial) {
	h := s.hand(t)
	_, in, err := s.stores(h.db, "claims")
	fail.If(err)
	var rows atomic.Int64
	prover.ClaimOnce(t, func(msg *message.Message) (inbox.Outcome, error) {
		outcome, err := in.Process(t.Context(), msg, func(ctx context.Context) error {
			put := at("claimed", rows.Add(1))
			put["i"] = text(msg.UUID)
			tx, _ := dynamoinbox.Tx(ctx)
			return tx.Add(h.putOf(put))
		})
		return outcome, refused(err)
	}, func() (rows, ids int) {
		all, err := query(t.Context(), h.db, h.table, "claimed", 0)
		fail.If(refused(err))
		distinct := map[string]bool{}
		for _, i := range all {
			distinct[textOf(i, "i")] = true
		}
		return len(all), len(distinct)
	})
}

// leatCheck runs leat's own checks of the server, and sends one message.
func (s *server) leatCheck(t *prover.Trial) {
	h := s.hand(t)
	ob, _, err := s.stores(h.db, prover.Consumer)
	fail.If(err)
	source, err := ob.Source(dynamooutbox.SourceConfig{})
	fail.If(err)
	prover.LeatCheck(t, source, func(m outbox.Message) error {
		return ob.InTx(t.Context(), func(ctx context.Context, tx *dynamooutbox.Tx) error { return ob.Enqueue(ctx, tx, m) })
	})
}
