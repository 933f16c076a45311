package dynamooutbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// policy is what of an IAM policy docs/dynamodb.md makes use of.
type policy struct {
	Statement []struct {
		Action    []string
		Condition map[string]map[string][]string
	}
}

// allows reports whether an action on an item with a partition key is allowed.
func (p policy) allows(action, key string) bool {
	for _, s := range p.Statement {
		if !slices.Contains(s.Action, "dynamodb:"+action) {
			continue
		}
		keys, limited := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
		if !limited {
			return true
		}
		for _, pattern := range keys {
			if ok, err := path.Match(pattern, strings.ReplaceAll(key, "/", "_")); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// policies returns those of docs/dynamodb.md by the word before them: "Of a producer:".
func policies(t *testing.T) map[string]policy {
	t.Helper()
	text, err := os.ReadFile("../../docs/dynamodb.md")
	require.NoError(t, err)
	all := make(map[string]policy)
	for _, m := range regexp.MustCompile("(?s)\nOf (?:a|an|the) (\\w+)[^\n]*:\n\n```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var p policy
		require.NoError(t, json.Unmarshal([]byte(m[2]), &p), m[1])
		all[m[1]] = p
	}
	return all
}

// judge remembers what of a role's requests its policy does not allow, and what it was used for.
type judge struct {
	policy policy

	mu      sync.Mutex
	refused []string
	used    map[string]bool
}

// saw is for faultnet.Dynamo. A transaction needs the rights of its items' own actions.
func (j *judge) saw(operation string, body []byte) {
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		panic(err)
	}
	switch operation {
	case "TransactWriteItems", "TransactGetItems":
		items, _ := in["TransactItems"].([]any)
		for _, i := range items {
			for action, of := range i.(map[string]any) { //nolint:forcetypeassert // what the SDK has written
				j.ask(map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}[action], keyIn(of))
			}
		}
	case "BatchGetItem", "BatchWriteItem":
		j.sawBatch(operation, in)
	default:
		j.ask(operation, keyIn(in))
	}
}

func (j *judge) sawBatch(operation string, in map[string]any) {
	tables, _ := in["RequestItems"].(map[string]any)
	for _, of := range tables {
		switch requests := of.(type) {
		case []any:
			for _, r := range requests {
				j.ask(operation, keyIn(r.(map[string]any)["DeleteRequest"])) //nolint:forcetypeassert // what the SDK has written
			}
		case map[string]any:
			keys, _ := requests["Keys"].([]any)
			for _, key := range keys {
				j.ask(operation, keyIn(key))
			}
		}
	}
}

// keyIn returns the partition key of a request.
func keyIn(of any) string {
	m, _ := of.(map[string]any)
	for _, name := range []string{"Key", "Item", "ExpressionAttributeValues"} {
		if i, ok := m[name].(map[string]any); ok && (i["pk"] != nil || i[":pk"] != nil) {
			m = i
			break
		}
	}
	for _, name := range []string{"pk", ":pk"} {
		if v, ok := m[name].(map[string]any); ok {
			return fmt.Sprint(v["S"])
		}
	}
	return ""
}

func (j *judge) ask(action, key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.used == nil {
		j.used = make(map[string]bool)
	}
	j.used["dynamodb:"+action] = true
	if !j.policy.allows(action, key) {
		j.refused = append(j.refused, action+" "+strconv.Quote(key))
	}
}

// TestPolicies: what the documentation grants is what each role asks for, and no more.
func TestPolicies(t *testing.T) {
	t.Parallel()
	all := policies(t)
	_, env := newOutbox(t, 2)
	role := func(name string) (*dynamooutbox.Outbox, *judge) {
		require.Contains(t, all, name)
		j := &judge{policy: all[name]}
		return through(t, env, &faultnet.Dynamo{Seen: j.saw, Hide: true}), j
	}
	producer, asProducer := role("producer")
	long := strings.Repeat("long", 500)
	for _, key := range []string{"", "k", "k", long, "z"} {
		enqueue(t, producer, outbox.Message{Topic: "orders", Key: key, Payload: []byte("1")})
	}
	other := through(t, env, &faultnet.Dynamo{Seen: asProducer.saw}) // which has to ask for the counter
	enqueue(t, other, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("2")})

	relay, asRelay := role("relay")
	lead(t, relay, long)
	operator, asOperator := role("operator")
	require.NoError(t, operate(t.Context(), operator))
	asEraser := &judge{policy: all["eraser"]}
	eraser, ok := through(t, env, &faultnet.Dynamo{Seen: asEraser.saw}).Admin().(driver.Eraser)
	require.True(t, ok)
	enqueue(t, producer, outbox.Message{Topic: "orders", Key: "z", Payload: []byte("3")})
	erased, err := eraser.Erase(t.Context(), driver.EraseRequest{Key: "z", Actor: "ops", Reason: "request 17"})
	require.NoError(t, err)
	require.Len(t, erased.Rows, 4, "%v", asEraser.refused)

	deployment, asDeployment := role("deployment")
	require.NoError(t, deployment.Setup(t.Context(), 2))

	for name, j := range map[string]*judge{"producer": asProducer, "relay": asRelay, "operator": asOperator, "eraser": asEraser, "deployment": asDeployment} {
		require.Empty(t, j.refused, name)
		var granted []string
		for _, statement := range j.policy.Statement {
			granted = append(granted, statement.Action...)
		}
		for _, action := range granted {
			require.True(t, j.used[action] || action == "dynamodb:CreateTable", "%s needs no %s", name, action)
		}
	}

	forbid(t, all)
}

// forbid checks what a role must not do.
func forbid(t *testing.T, all map[string]policy) {
	t.Helper()
	for _, key := range []string{"L", "H#default", "A", "B"} {
		require.False(t, all["producer"].allows("PutItem", key), key)
		require.False(t, all["producer"].allows("UpdateItem", key), key)
	}
	require.False(t, all["producer"].allows("DeleteItem", "M#1"))
	require.False(t, all["producer"].allows("Query", "M#1"))
	require.False(t, all["operator"].allows("PutItem", "L"))
	require.False(t, all["operator"].allows("PutItem", "M#1"))
	require.False(t, all["relay"].allows("PutItem", "M#1"))
	require.False(t, all["relay"].allows("UpdateItem", "C#orders\x00k"))
}

// lead does what a relay does.
func lead(t *testing.T, relay *dynamooutbox.Outbox, retried string) {
	t.Helper()
	src, err := relay.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	require.NoError(t, src.Check(t.Context()))
	s := acquire(t, relay)
	keeper, ok := s.(driver.OutageKeeper)
	require.True(t, ok)
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{{Topic: "orders"}}))
	parked := make(map[string]bool)
	for held := 0; held < 5; {
		p, err := s.Read(t.Context(), 1)
		require.NoError(t, err)
		require.NotEmpty(t, p.Records)
		key := p.Records[0].Key
		if key == "" {
			require.NoError(t, s.Advance(t.Context(), p, 1))
			continue
		}
		fate := driver.FatePark
		switch {
		case key == retried:
			fate = driver.FateRetry
		case parked[key]:
			fate = driver.FateWait
		}
		parked[key] = true
		holder, ok := s.(driver.Holder)
		require.True(t, ok)
		require.NoError(t, holder.Hold(t.Context(), p, 1, []driver.Holding{{Fate: fate}}))
		held++
	}
	holder, ok := s.(driver.Holder)
	require.True(t, ok)
	due, err := holder.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Len(t, due, 1)
	_, err = holder.Resolve(t.Context(), []driver.Verdict{{Record: &due[0].Record, Fate: driver.FateSkip, Reason: "test"}})
	require.NoError(t, err)
	require.NoError(t, s.Renew(t.Context(), leaseTime))
	require.NoError(t, s.Release(t.Context()))
}

func by() admin.By { return admin.By{Actor: "operator", Reason: "test"} }

// operate does what operators do.
func operate(ctx context.Context, ob *dynamooutbox.Outbox) error {
	_, err := ob.Admin().Stats(ctx)
	errs := []error{err}
	parked, err := ob.Admin().Held(ctx, admin.HeldQuery{})
	errs = append(errs, err)
	if len(parked) == 0 {
		return fmt.Errorf("nothing is held: %w", errors.Join(errs...))
	}
	_, err = ob.Admin().SkipHead(ctx, admin.SkipHeadRequest{By: by(), Key: driver.Key{Topic: "orders", Key: "k"}})
	errs = append(errs, err)
	_, err = ob.Admin().Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Topic: "orders", Key: "z"}})
	errs = append(errs, err)
	_, err = ob.Admin().Audit(ctx, admin.AuditQuery{})
	errs = append(errs, err)
	_, err = ob.Admin().Groups(ctx)
	return errors.Join(append(errs, err)...)
}
