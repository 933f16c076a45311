package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

// dynamoStore is DynamoDB Local.
type dynamoStore struct {
	*stage

	db            *dynamodb.Client     // not through a proxy
	books, ledger *dynamooutbox.Outbox // of bank and ledger
}

func (s *dynamoStore) start(ctx context.Context) (*testenv.Own, error) { return testenv.OwnDynamo(ctx) }

func (s *dynamoStore) service() report.Service {
	return report.Service{Name: "DynamoDB", Version: "Local " + s.server.Version}
}

func (s *dynamoStore) roster() []member {
	return pairs(member{"bank-1", roles.Bank}, member{"bank-2", roles.Bank})
}

func (s *dynamoStore) address(role, _, hostPort string) (string, error) {
	return "http://" + hostPort + "/" + databaseOf(role), nil
}

// dynamoBuckets is the number of buckets of an outbox. Few are better, since each costs a request whenever
// the outbox is counted.
const dynamoBuckets = 2

func (s *dynamoStore) open(ctx context.Context) (err error) {
	client, closeIdle := roles.DialDynamo(s.server.Address, (&net.Dialer{}).DialContext)
	s.db = client
	s.later(func() error { closeIdle(); return nil })
	if s.books, err = s.outbox(ctx, bankDatabase); err != nil {
		return err
	}
	if s.ledger, err = s.outbox(ctx, ledgerDatabase); err != nil {
		return err
	}
	in, err := dynamoinbox.New(s.ledger, s.db, roles.Ledger, dynamoinbox.Config{Config: inbox.Config{}, Table: roles.DynamoInbox})
	if err != nil {
		return err
	}
	if err := in.Setup(ctx); err != nil {
		return err
	}
	for _, name := range []string{roles.DynamoAccounts, roles.DynamoTransfers, roles.DynamoBalances, roles.DynamoEffects} {
		table := dynamotable.Table{Name: name, Partition: dynamotable.Key{Name: "pk", Type: types.ScalarAttributeTypeS}}
		if err := table.Setup(ctx, s.db); err != nil {
			return err
		}
	}
	return s.openAccounts(ctx)
}

func (s *dynamoStore) outbox(ctx context.Context, database string) (*dynamooutbox.Outbox, error) {
	ob, err := dynamooutbox.New(s.db, dynamooutbox.Config{Table: roles.DynamoOutbox(database)})
	if err != nil {
		return nil, err
	}
	return ob, ob.Setup(ctx, dynamoBuckets)
}

func (s *dynamoStore) openAccounts(ctx context.Context) error {
	for _, table := range []string{roles.DynamoAccounts, roles.DynamoBalances} {
		for n := range s.options.Accounts {
			_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: roles.DynamoAccount(roles.Account(n))})
			if err != nil {
				return fmt.Errorf("open the %s: %w", table, err)
			}
		}
	}
	return nil
}

// forget does nothing: the client notices by itself.
func (s *dynamoStore) forget() {}

// isCommit recognises a transaction by the headers of the request, which are its first bytes.
func (s *dynamoStore) isCommit(b []byte) bool {
	return bytes.Contains(b, []byte("DynamoDB_20120810.TransactWriteItems"))
}

// strikes excludes what DynamoDB does not have: sessions, windows, partitions and attempts.
func (s *dynamoStore) strikes(d deed) bool {
	switch failpoint.Name(d.point) {
	case failpoint.RelayWindowOpened, failpoint.RelayBeforeFinishWindow, failpoint.RelayAdvanceAmbiguous,
		failpoint.RelayLatePositionWrite, failpoint.RelayDropWaits, failpoint.ConsumerAfterTrylock, failpoint.ConsumerAttemptWrite:
		return false
	default:
		return d.kind != kindTerminate
	}
}

// crash is only an outage. Unlike DynamoDB, DynamoDB Local forgets the tokens of requests when it ends, so
// it would carry out a request twice.
func (s *dynamoStore) crash() serverFault {
	return serverFault{
		pointServer(roles.DynamoDB), roles.KindStop,
		[]string{roles.Relay, roles.Receipts, roles.Ledger, roles.Bank},
		s.pause,
	}
}

// pause stops the server for longer than a lease.
func (s *dynamoStore) pause(ctx context.Context, _ *fault) error {
	if err := s.server.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	wait.Full(ctx, roles.RelayLease+time.Second)
	return s.server.Signal(syscall.SIGCONT)
}

// lines returns none: foreign transactions never block.
func (s *dynamoStore) lines(*injection) []serverFault { return nil }

// terminate does nothing: there are no sessions.
func (s *dynamoStore) terminate(context.Context, string, bool) bool { return false }

func (s *dynamoStore) pending(ctx context.Context, role string) int64 {
	if !roles.IsRelay(role) {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	n, err := unsettledDynamo(s.outboxOf(role))(ctx)
	if err != nil { // an unknown number does not count
		return 0
	}
	return min(n, 100)
}

func (s *dynamoStore) outboxOf(role string) *dynamooutbox.Outbox {
	if databaseOf(role) == bankDatabase {
		return s.books
	}
	return s.ledger
}

// unsettledDynamo counts the records that an outbox must send, for the first time or again.
func unsettledDynamo(ob *dynamooutbox.Outbox) func(ctx context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		stats, err := ob.Admin().Stats(ctx)
		for _, g := range stats.Groups {
			n += g.Slots[0].Backlog + int64(g.Retrying)
		}
		return n, err
	}
}

// counted adds up the versions of the accounts: each event increments the version of its account.
func (s *dynamoStore) counted(ctx context.Context) (enqueued, effects int64) {
	sum := func(table string) (n int64) {
		err := s.scan(ctx, table, func(row item) error { n += roles.DynamoNumber(row, "version"); return nil })
		if err != nil {
			return -1
		}
		return n
	}
	return sum(roles.DynamoAccounts), sum(roles.DynamoBalances)
}

// item is a DynamoDB item.
type item = map[string]types.AttributeValue

// scan visits all items of a table.
func (s *dynamoStore) scan(ctx context.Context, table string, visit func(item) error) error {
	pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
		for _, row := range page.Items {
			if err := visit(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *dynamoStore) leftovers() []leftover {
	return []leftover{
		{"records of the ledger's outbox", unsettledDynamo(s.ledger)},
		{"records of the bank's outbox", unsettledDynamo(s.books)},
	}
}

func (s *dynamoStore) dropParked(ctx context.Context) error {
	_, err := s.books.Admin().Drop(ctx, tooLarge())
	return err
}
