package pginbox_test

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
	"github.com/leat-go/leat/outbox/relay"
)

// TestMoves_DynamoDB is TestMoves with a backup that is restored while the service goes on. DynamoDB Local restores none, so the tables
// are copied under other names.
//
//leat:level 4
func TestMoves_DynamoDB(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	s := &dynamoService{service: &service{}, prefix: env.Prefix}
	var closeIdle func()
	s.client, closeIdle = roles.DialDynamo(env.URL, (&net.Dialer{}).DialContext)
	t.Cleanup(closeIdle)
	s.world = newWorld(t, s.open)
	s.onKafka(relay.Config{}, manner{})
	began := time.Now()
	s.move("DynamoDB: restore of a backup", func() {
		s.stop()
		kept := map[string]bool{}
		for id := range s.written {
			kept[id] = true
		}
		restored := s.backup(env.Prefix + "restored-")
		s.startWriting()
		s.start()
		s.progress(20)
		s.effects("billed")

		s.stop()
		s.excuse(kept)
		s.sending.begin()
		s.store = restored
		for _, name := range prompt {
			s.setBack(name, began)
		}
		s.start()
	})
}

// dynamoService is a service on DynamoDB.
type dynamoService struct {
	*service

	client *dynamodb.Client
	prefix string // of the names of tables
}

type item = map[string]types.AttributeValue

func (s *dynamoService) open(t *testing.T, log *slog.Logger) store {
	t.Helper()
	tables := s.prefix
	ob, err := dynamooutbox.New(s.client, dynamooutbox.Config{Table: tables + "outbox", Logger: log})
	require.NoError(t, err)
	require.NoError(t, ob.Setup(t.Context(), 2))
	consumer := func(name string, cfg inbox.Config) (*dynamoinbox.Inbox, error) {
		return dynamoinbox.New(ob, s.client, name, dynamoinbox.Config{Config: cfg, Table: tables + "inbox"})
	}
	in, err := consumer("setup", inbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Setup(t.Context()))
	for _, table := range []string{"billed", "shipped"} {
		require.NoError(t, dynamotable.Table{
			Name:      tables + table,
			Partition: dynamotable.Key{Name: "id", Type: types.ScalarAttributeTypeS},
			Sort:      dynamotable.Key{Name: "no", Type: types.ScalarAttributeTypeN},
		}.Setup(t.Context(), s.client))
	}
	return s.opened(store{
		admin: withoutDelays{of: ob.Admin()},
		put: func(ctx context.Context, m outbox.Message) error {
			m.NotBefore = time.Time{}
			return ob.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error { return ob.Enqueue(ctx, tx, m) })
		},
		source: func(g group) (driver.Source, error) { return ob.Source(dynamooutbox.SourceConfig{Group: g.Name}) },
		inbox: func(name string, m manner) (*inbox.Processor, func(context.Context) (string, error), error) {
			in, err := consumer(name, m.Config)
			if err != nil {
				return nil, nil, err
			}
			return in.Processor, nil, nil
		},
		effect: func(ctx context.Context, table, id string) error {
			tx, ok := dynamoinbox.Tx(ctx)
			if !ok {
				return outbox.ErrNotInTransaction
			}
			return tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tables + table), Item: item{
				"id": &types.AttributeValueMemberS{Value: id},
				"no": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().UnixNano(), 10)},
			}}})
		},
		listed: func(ctx context.Context, table string) (ids []string, err error) {
			items, err := s.scan(ctx, tables+table)
			slices.SortFunc(items, func(a, b item) int { return cmp.Compare(roles.DynamoNumber(a, "no"), roles.DynamoNumber(b, "no")) })
			for _, i := range items {
				ids = append(ids, roles.DynamoText(i, "id"))
			}
			return ids, err
		},
	})
}

// withoutDelays keeps no message until it is due.
type withoutDelays struct {
	admin.Manager // nil: it has no other methods

	of admin.Outbox
}

// Stats implements admin.Outbox.
func (w withoutDelays) Stats(ctx context.Context) (admin.Stats, error) { return w.of.Stats(ctx) }

// Redrive implements admin.Outbox.
func (w withoutDelays) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return w.of.Redrive(ctx, req)
}

// Delayed implements admin.Manager.
func (w withoutDelays) Delayed(context.Context, admin.DelayedQuery) ([]admin.DelayedMessage, error) {
	return nil, nil
}

// scan returns all items of a table.
func (s *dynamoService) scan(ctx context.Context, table string) (all []item, err error) {
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
	}
	return all, nil
}

// backup copies all tables, and returns the store of the copies.
func (s *dynamoService) backup(prefix string) store {
	s.t.Helper()
	from := s.prefix
	s.prefix = prefix
	restored := s.open(s.t, s.log.Logger())
	for _, table := range []string{"outbox", "inbox", "billed", "shipped"} {
		items, err := s.scan(s.t.Context(), from+table)
		require.NoError(s.t, err)
		for some := range slices.Chunk(items, 25) {
			requests := make([]types.WriteRequest, len(some))
			for i := range some {
				requests[i].PutRequest = &types.PutRequest{Item: some[i]}
			}
			done, err := s.client.BatchWriteItem(s.t.Context(), &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{prefix + table: requests},
			})
			require.NoError(s.t, err)
			require.Empty(s.t, done.UnprocessedItems)
		}
	}
	return restored
}

// setBack sets a group without members back to where it was at a time, as leat inbox rewind does.
func (s *service) setBack(group string, to time.Time) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...))
	require.NoError(s.t, err)
	defer client.Close()
	tools, name := kadm.NewClient(client), s.kafka.Name(group)
	committed, err := tools.FetchOffsets(s.t.Context(), name)
	require.NoError(s.t, err)
	then, err := tools.ListOffsetsAfterMilli(s.t.Context(), to.UnixMilli(), s.orders)
	require.NoError(s.t, err)
	offsets := kadm.Offsets{}
	committed.Each(func(o kadm.OffsetResponse) {
		at, known := then.Lookup(o.Topic, o.Partition)
		require.True(s.t, known)
		require.Less(s.t, at.Offset, o.At)
		offsets.Add(kadm.Offset{Topic: o.Topic, Partition: o.Partition, At: at.Offset, LeaderEpoch: -1})
	})
	require.NotEmpty(s.t, offsets)
	s.await("the group is empty", func() bool { return tools.CommitAllOffsets(s.t.Context(), name, offsets) == nil })
}
