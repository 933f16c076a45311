package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

// server is DynamoDB, or a server that imitates it. Its scratch place are three tables.
type server struct {
	options dynamodb.Options // without an HTTPClient
	prefix  string           // begins the names of the tables
	// via stands between the clients and the server. Nil, except in tests.
	via func(client dynamodb.HTTPClient) dynamodb.HTTPClient

	name      string // of the scratch place; empty before Prepare
	made      bool   // all tables exist
	stream    string // of the table shop
	streamErr error  // why it has none
	wires     prover.Wires
}

// The tables of the scratch place. Shop has the items of probes and of the workload's business.
const outboxTable, inboxTable, shopTable = "outbox", "inbox", "shop"

// buckets is the number of buckets of the outbox.
const buckets = 4

// scratchName matches the name of a table without the prefix.
var scratchName = regexp.MustCompile(`^` + prover.Prefix + `[0-9]+_[0-9a-f]{8}_(` + outboxTable + `|` + inboxTable + `|` + shopTable + `)$`)

func (s *server) table(what string) *string { return aws.String(s.name + "_" + what) }

// http returns an HTTP client whose connections are among the wires, and what closes them.
func (s *server) http(w *prover.Wires) (client dynamodb.HTTPClient, end func()) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: w.Through(s.wires.Through(dialer.DialContext)),
		MaxConnsPerHost: prover.PoolSize, MaxIdleConnsPerHost: prover.PoolSize, TLSHandshakeTimeout: 5 * time.Second,
	}
	client = &http.Client{Transport: transport}
	if s.via != nil {
		client = s.via(client)
	}
	return client, func() {
		w.CutAll(true)
		transport.CloseIdleConnections()
	}
}

// client returns a client with connections of its own.
func (s *server) client(w *prover.Wires) (db *dynamodb.Client, end func()) {
	options := s.options
	options.HTTPClient, end = s.http(w)
	return dynamodb.New(options), end
}

// use runs do with a client.
func (s *server) use(do func(db *dynamodb.Client) error) error {
	var mine prover.Wires
	db, end := s.client(&mine)
	defer end()
	return do(db)
}

// About implements prover.Server. DynamoDB has no version.
func (s *server) About(context.Context) string {
	return cmp.Or(aws.ToString(s.options.BaseEndpoint), "DynamoDB") + ", region " + s.options.Region
}

// Prepare implements prover.Server.
func (s *server) Prepare(ctx context.Context) error {
	return s.use(func(db *dynamodb.Client) error {
		now, err := s.sweep(ctx, db)
		if err == nil {
			s.name = fmt.Sprintf("%s%s%d_%s", s.prefix, prover.Prefix, now.Unix(), prover.Unique())
		}
		return err
	})
}

// sweep deletes the tables that killed runs have left behind, and returns the server's time. It ignores what
// it has no right to.
func (s *server) sweep(ctx context.Context, db *dynamodb.Client) (now time.Time, err error) {
	now = time.Now()
	for pages := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if denied(err) {
			return now, nil
		}
		if err != nil {
			return now, err
		}
		if theirs, ok := middleware.GetServerTime(page.ResultMetadata); ok {
			now = theirs
		}
		for _, name := range page.TableNames {
			if scratch, ours := strings.CutPrefix(name, s.prefix); ours && scratchName.MatchString(scratch) && prover.Stale(scratch, now.Unix()) {
				_, _ = db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}) // another run may be sweeping
			}
		}
	}
	return now, nil
}

// Wait implements prover.Waiter: DynamoDB takes seconds to create a table.
func (s *server) Wait(ctx context.Context) error {
	return s.use(func(db *dynamodb.Client) error {
		ob, in, err := s.stores(db, prover.Consumer)
		if err != nil {
			return err
		}
		shop := dynamotable.Table{
			Name: *s.table(shopTable), Partition: dynamotable.Key{Name: "pk", Type: types.ScalarAttributeTypeS},
			Sort: dynamotable.Key{Name: "sk", Type: types.ScalarAttributeTypeN},
		}
		steps := []func() error{
			func() error { return ob.Setup(ctx, buckets) },
			func() error { return in.Setup(ctx) },
			func() error { return shop.Setup(ctx, db) },
		}
		errs := make(chan error, len(steps))
		for _, step := range steps {
			go func() { errs <- step() }()
		}
		for range steps {
			err = errors.Join(err, <-errs)
		}
		if denied(err) {
			return fmt.Errorf("scratch tables are needed: allow all actions on tables %s%s*, or choose another -prefix: %w", s.prefix, prover.Prefix, err)
		}
		if err != nil {
			return err
		}
		s.made = true
		s.stream, s.streamErr = s.switchOn(ctx, db)
		return ctx.Err()
	})
}

// streamTime bounds the time that it takes to switch a stream on.
const streamTime = time.Minute

// switchOn gives the table shop a stream, and returns its ARN.
func (s *server) switchOn(ctx context.Context, db *dynamodb.Client) (stream string, err error) {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	_, err = db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:           s.table(shopTable),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	for err == nil {
		var is *dynamodb.DescribeTableOutput
		if is, err = db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: s.table(shopTable)}); err != nil {
			break
		}
		if arn := aws.ToString(is.Table.LatestStreamArn); arn != "" && is.Table.TableStatus == types.TableStatusActive {
			return arn, nil
		}
		err = wait.For(ctx, 200*time.Millisecond)
	}
	return "", err
}

// stores returns an outbox, and an inbox of a consumer.
func (s *server) stores(db *dynamodb.Client, consumer string) (*dynamooutbox.Outbox, *dynamoinbox.Inbox, error) {
	ob, err := dynamooutbox.New(db, dynamooutbox.Config{Table: *s.table(outboxTable), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	cfg := dynamoinbox.Config{Table: *s.table(inboxTable)}
	cfg.Logger, cfg.BusyDelay = slog.New(slog.DiscardHandler), prover.Between
	in, err := dynamoinbox.New(ob, db, consumer, cfg)
	return ob, in, err
}

// Clean implements prover.Server.
func (s *server) Clean(ctx context.Context) error {
	s.wires.CutAll(false)
	if s.name == "" {
		return nil
	}
	defer s.wires.CutAll(true)
	return s.use(func(db *dynamodb.Client) error {
		var errs []error
		for _, what := range []string{outboxTable, inboxTable, shopTable} {
			errs = append(errs, s.drop(ctx, db, s.table(what)))
		}
		return errors.Join(errs...)
	})
}

// lateCreate is how long a table may still appear whose creation was interrupted.
const lateCreate = time.Second

// drop deletes a table. It waits until it can: not while the table is being created.
func (s *server) drop(ctx context.Context, db *dynamodb.Client, name *string) error {
	for began := time.Now(); ; {
		_, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: name})
		_, gone := errors.AsType[*types.ResourceNotFoundException](err)
		switch {
		case err == nil, gone && (s.made || time.Since(began) > lateCreate):
			return nil
		case denied(err), wait.For(ctx, 200*time.Millisecond) != nil:
			return fmt.Errorf("table %s is left behind: delete it, or let a run do it in an hour: %w", *name, err)
		}
	}
}

// denied reports whether the server has refused something for a missing privilege.
func denied(err error) bool { return codeOf(err) == "AccessDeniedException" }

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// refused marks err as an error returned by the server. What says nothing about the server's properties stays
// as it is: no capacity, credentials that have expired, a server that fails.
func refused(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorFault() == smithy.FaultServer {
		return err
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException",
		"ExpiredTokenException", "InvalidSignatureException", "UnrecognizedClientException":
		return err
	}
	return prover.Refused(err, denied(err))
}
