package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/prover"
)

// request is the body of a request.
type request map[string]any

// reply is an answer.
type reply struct {
	status int
	header http.Header
	out    map[string]any
	err    error
}

// refusal is an answer that refuses a request.
func refusal(code string) reply {
	return reply{status: http.StatusBadRequest, header: http.Header{}, out: map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": code}}
}

// change stands between a client and the server. It may change the request, the answer, or both.
type change func(operation string, in request, send func(request) reply) reply

// through returns a server's via: each client has a change of its own.
func through(c change) func(dynamodb.HTTPClient) dynamodb.HTTPClient {
	return func(client dynamodb.HTTPClient) dynamodb.HTTPClient { return changing{client, c} }
}

// changing is a client whose requests and answers are changed.
type changing struct {
	dynamodb.HTTPClient

	change change
}

func (c changing) Do(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in request
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	got := c.change(operation, in, func(in request) reply {
		raw, err := json.Marshal(in)
		if err != nil {
			return reply{err: err}
		}
		next := r.Clone(r.Context())
		next.Body, next.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		answer, err := c.HTTPClient.Do(next)
		if err != nil {
			return reply{err: err}
		}
		defer answer.Body.Close()
		got := reply{status: answer.StatusCode, header: answer.Header}
		if raw, got.err = io.ReadAll(answer.Body); got.err == nil {
			got.err = json.Unmarshal(raw, &got.out)
		}
		return got
	})
	if got.err != nil {
		return nil, got.err
	}
	if raw, err = json.Marshal(got.out); err != nil {
		return nil, err
	}
	header := got.header.Clone()
	header.Del("X-Amz-Crc32")
	header.Del("Content-Length")
	return &http.Response{
		StatusCode: got.status, Status: http.StatusText(got.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: header, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)),
	}, nil
}

// ask changes the requests of an operation.
func ask(which string, change func(in request)) change {
	return func(operation string, in request, send func(request) reply) reply {
		if operation == which {
			change(in)
		}
		return send(in)
	}
}

// tell changes the answers to an operation.
func tell(which string, change func(got *reply)) change {
	return func(operation string, in request, send func(request) reply) reply {
		got := send(in)
		if operation == which && got.err == nil {
			change(&got)
		}
		return got
	}
}

// dig returns what is in nested objects.
func dig(in any, names ...string) any {
	for _, name := range names {
		object, _ := in.(map[string]any)
		in = object[name]
	}
	return in
}

// list returns what is in nested objects as a list.
func list(in any, names ...string) []any {
	all, _ := dig(in, names...).([]any)
	return all
}

// unconditional removes a condition, with its values.
func unconditional(in any) {
	if object, ok := in.(map[string]any); ok {
		delete(object, "ConditionExpression")
		delete(object, "ReturnValuesOnConditionCheckFailure")
		delete(object, "ExpressionAttributeValues")
	}
}

// stale is a cache that answers each read as it did the first time.
func stale(which string) func(dynamodb.HTTPClient) dynamodb.HTTPClient {
	return func(client dynamodb.HTTPClient) dynamodb.HTTPClient {
		var mu sync.Mutex
		first := map[string]reply{}
		return changing{client, func(operation string, in request, send func(request) reply) reply {
			if operation != which {
				return send(in)
			}
			mu.Lock()
			defer mu.Unlock()
			name := fmt.Sprint(in) // maps are printed in the order of their keys
			if _, ok := first[name]; !ok {
				first[name] = send(in)
			}
			return first[name]
		}}
	}
}

// apart carries out the items of a transaction one after another, with a while in between.
func apart(operation string, in request, send func(request) reply) reply {
	if operation != "TransactWriteItems" {
		return send(in)
	}
	got := reply{}
	for _, item := range list(map[string]any(in), "TransactItems") {
		one := send(request{"TransactItems": []any{item}})
		if one.status != http.StatusOK || got.out == nil {
			got = one
		}
	}
	return got
}

// claimed makes an inbox forget all ids: it finds none, and stores each.
func claimed(operation string, in request, send func(request) reply) reply {
	inbox := func(in any) bool {
		name, _ := dig(in, "TableName").(string)
		return strings.HasSuffix(name, "_"+inboxTable)
	}
	if operation == "TransactWriteItems" {
		for _, item := range list(map[string]any(in), "TransactItems") {
			if put := dig(item, "Put"); inbox(put) {
				unconditional(put)
			}
		}
	}
	got := send(in)
	key, _ := dig(map[string]any(in), "Key", "pk", "B").(string)
	if message := len(key) > 24; operation == "GetItem" && inbox(map[string]any(in)) && message { // a consumer's own note has 16 bytes
		delete(got.out, "Item")
	}
	return got
}

// rounded changes numbers as JavaScript would.
func rounded(in any) {
	switch v := in.(type) {
	case []any:
		for _, each := range v {
			rounded(each)
		}
	case map[string]any:
		for name, value := range v {
			if n, ok := value.(string); ok && name == "N" {
				f, _ := strconv.ParseFloat(n, 64)
				v[name] = strconv.FormatFloat(f, 'f', -1, 64)
			}
			rounded(value)
		}
	}
}

// dated changes the Date of answers.
func dated(by func(turn int) time.Duration) func(dynamodb.HTTPClient) dynamodb.HTTPClient {
	var mu sync.Mutex
	turns := 0
	return func(client dynamodb.HTTPClient) dynamodb.HTTPClient {
		mu.Lock()
		defer mu.Unlock()
		turn := turns
		turns++
		return changing{client, tell("GetItem", func(got *reply) {
			got.header.Set("Date", time.Now().Add(by(turn)).UTC().Format(http.TimeFormat))
		})}
	}
}

// A server, or what stands before it, that lacks one property: the probe of that property says so.
//
//leat:level 2
func TestControls(t *testing.T) {
	t.Parallel()
	type via = func(dynamodb.HTTPClient) dynamodb.HTTPClient
	expires := func(table, as string) change {
		return func(operation string, in request, send func(request) reply) reply {
			got := send(in)
			if name, _ := in["TableName"].(string); operation == "DescribeTimeToLive" && strings.HasSuffix(name, table) {
				got.out["TimeToLiveDescription"] = map[string]any{"TimeToLiveStatus": as, "AttributeName": "c"}
			}
			return got
		}
	}
	for name, control := range map[string]struct {
		via         via
		probe, says string
		want        prover.Outcome
	}{
		"a cache of items":              {stale("GetItem"), "reads.consistent", "consistent reads of an item by its key", prover.Broken},
		"a cache of batches":            {stale("BatchGetItem"), "reads.consistent", "of items by their keys", prover.Broken},
		"a cache of partitions":         {stale("Query"), "reads.consistent", "of a partition", prover.Broken},
		"a cache of transactions":       {stale("TransactGetItems"), "reads.consistent", "of items in a transaction", prover.Broken},
		"writes without condition":      {through(ask("PutItem", func(in request) { unconditional(map[string]any(in)) })), "writes.conditional", "at the same time 8 succeed", prover.Broken},
		"conditions that say nothing":   {through(tell("PutItem", func(got *reply) { delete(got.out, "Item") })), "writes.conditional", "does not return the item", prover.Limited},
		"transactions apart":            {through(apart), "transactions.whole", "item 1 of 2 is written", prover.Broken},
		"halves of transactions":        {through(apart), "transactions.whole", "has seen half of another one", prover.Broken},
		"transactions without reasons":  {through(tell("TransactWriteItems", func(got *reply) { delete(got.out, "CancellationReasons") })), "transactions.reasons", "has the reasons []", prover.Broken},
		"transactions without items":    {through(tell("TransactWriteItems", withoutItems)), "transactions.reasons", "does not return the item", prover.Broken},
		"tokens that nobody keeps":      {through(ask("TransactWriteItems", func(in request) { in["ClientRequestToken"] = prover.Unique() })), "transactions.token", "was carried out 2 times", prover.Broken},
		"pages that end too early":      {through(tell("Query", func(got *reply) { delete(got.out, "LastEvaluatedKey") })), "pages", "of 60 items that were written in batches 7 are read", prover.Broken},
		"numbers of 53 bits":            {through(tell("Query", func(got *reply) { rounded(got.out["Items"]) })), "pages", "in the order of sort keys item", prover.Broken},
		"batches that lose":             {through(half("PutRequest")), "pages", "that were written in batches", prover.Broken},
		"batches that delete half":      {through(half("DeleteRequest")), "pages", "that were deleted in batches 29 are there", prover.Broken},
		"transactions of 25 items":      {through(atMost(25, 1<<30)), "sizes", "of 100 items is refused", prover.Limited},
		"items of 256 KB":               {through(atMost(100, 256<<10)), "sizes", "with a payload of 358400 bytes is refused", prover.Limited},
		"messages that expire":          {through(expires(outboxTable, "ENABLED")), "expiry", "may be deleted before they are sent", prover.Broken},
		"an inbox that never forgets":   {through(expires(inboxTable, "DISABLED")), "expiry", "has no TTL", prover.Limited},
		"two clocks":                    {dated(func(turn int) time.Duration { return time.Duration(turn%2) * time.Minute }), "clock", " apart: a lease may be taken over", prover.Broken},
		"a clock that is ahead":         {dated(func(int) time.Duration { return time.Hour }), "clock", " behind", prover.Limited},
		"answers without a Date":        {through(tell("GetItem", func(got *reply) { got.header.Del("Date") })), "clock", "answers have no Date", prover.Limited},
		"a stream that cannot be had":   {through(tell("UpdateTable", func(got *reply) { *got = refusal("AccessDeniedException") })), "stream", "cannot be switched on", prover.Limited},
		"a stream that stays empty":     {through(tell("GetRecords", func(got *reply) { got.out["Records"] = []any{} })), "stream", "is not in the table's stream", prover.Limited},
		"claims that exclude nobody":    {through(claimed), "claim.once", "had their effect more than once", prover.Broken},
		"messages that are not read":    {through(tell("Query", func(got *reply) { got.out["Items"] = []any{}; delete(got.out, "LastEvaluatedKey") })), "leat.check", "a relay has sent 0", prover.Broken},
		"transactions that are refused": {through(ask("TransactWriteItems", func(in request) { delete(in, "TransactItems") })), "leat.check", "leat refuses: Enqueue", prover.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.via = control.via
			f := findings(t, s, control.probe, 0)[control.probe]
			require.Equal(t, control.want, f.Outcome, "%q", f.Details)
			require.Contains(t, strings.Join(f.Details, "\n"), control.says)
			require.NotEmpty(t, f.Advice)
		})
	}
}

// withoutItems removes the items from the reasons of a transaction.
func withoutItems(got *reply) {
	for _, reason := range list(got.out, "CancellationReasons") {
		if object, ok := reason.(map[string]any); ok {
			delete(object, "Item")
		}
	}
}

// half makes a batch do half of what is of a kind, and return nothing as left.
func half(kind string) change {
	return ask("BatchWriteItem", func(in request) {
		tables, _ := in["RequestItems"].(map[string]any)
		for table := range tables {
			if all := list(tables, table); dig(all[0], kind) != nil {
				tables[table] = all[:len(all)-len(all)/2]
			}
		}
	})
}

// atMost refuses transactions of more items, or of more bytes.
func atMost(items, bytes int) change {
	return func(operation string, in request, send func(request) reply) reply {
		if raw, _ := json.Marshal(in); operation == "TransactWriteItems" && (len(list(map[string]any(in), "TransactItems")) > items || len(raw) > bytes) {
			return refusal("ValidationException")
		}
		return send(in)
	}
}

// A workload on servers that lose effects or messages: the judge notices.
//
//leat:level 4
func TestWorkloadIsJudged(t *testing.T) {
	t.Parallel()
	deaf := func(operation string, in request, send func(request) reply) reply {
		got := send(in)
		if name, _ := in["TableName"].(string); got.out == nil || operation != "Query" || !strings.HasSuffix(name, outboxTable) {
			return got
		}
		shown := []any{}
		for _, i := range list(got.out, "Items") {
			if id, _ := dig(i, "i", "S").(string); !strings.HasSuffix(id, "7") {
				shown = append(shown, i)
			}
		}
		got.out["Items"] = shown
		return got
	}
	for name, control := range map[string]struct {
		via  func(dynamodb.HTTPClient) dynamodb.HTTPClient
		says string
	}{
		"claims that exclude nobody":   {through(claimed), "I1: "},
		"messages that are never seen": {through(deaf), "messages wait, and for 15s nothing has moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.via = control.via
			f := findings(t, s, prover.Workload, 20*time.Second)[prover.Workload]
			require.Equal(t, prover.Broken, f.Outcome, "%q", f.Details)
			require.Contains(t, strings.Join(f.Details, "\n"), control.says)
		})
	}
}
