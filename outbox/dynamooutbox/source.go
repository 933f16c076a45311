package dynamooutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// SourceConfig tunes Outbox.Source.
type SourceConfig struct {
	// Group names the relays of the outbox, which has one group: what it has sent is deleted. The
	// first relay that reads fixes the name. Valid UTF-8 without NUL, 1 to 200 bytes. Defaults to
	// "default".
	Group string
}

// source reads the outbox for relays. It is safe for concurrent use.
type source struct {
	ob    *Outbox
	group string
}

var (
	_ driver.Source = (*source)(nil)
	_ driver.Placed = (*source)(nil)
)

// LogValue implements slog.LogValuer: the outbox and the group, as relays log them.
func (s *source) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", s.ob.cfg.Table), slog.String("group", s.group))
}

// Source returns the outbox as a source for relay.New. Replicas of one relay use the same
// group, in one process or many: one of them leads. It connects to nothing. The error wraps
// outbox.ErrInvalidConfig.
func (o *Outbox) Source(cfg SourceConfig) (driver.Source, error) {
	cfg.Group = cmp.Or(cfg.Group, "default")
	if len(cfg.Group) > 200 || !utf8.ValidString(cfg.Group) || strings.ContainsRune(cfg.Group, 0) {
		return nil, outbox.ConfigError("Group", strconv.Quote(cfg.Group), "must be valid UTF-8 without NUL, of at most 200 bytes")
	}
	return &source{ob: o, group: cfg.Group}, nil
}

// DefaultSource is Source with the zero SourceConfig, for package leat.
func (o *Outbox) DefaultSource() (driver.Source, error) { return o.Source(SourceConfig{}) }

// Place implements driver.Placed. It needs the right to DescribeTable.
func (s *source) Place(ctx context.Context) (driver.Place, error) {
	is, err := s.ob.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.ob.cfg.Table})
	if err != nil {
		return driver.Place{}, fmt.Errorf("leat: where is %s: %w", s.ob.cfg.Table, err)
	}
	p := driver.Place{Database: s.ob.cfg.Table, Instance: aws.ToString(is.Table.TableId)}
	if p.Instance == "" { // servers that imitate DynamoDB may have no ids
		p.Instance = aws.ToTime(is.Table.CreationDateTime).UTC().Format(time.RFC3339Nano)
	}
	if in, err := arn.Parse(aws.ToString(is.Table.TableArn)); err == nil {
		p.Host = in.AccountID + "/" + in.Region
	}
	return p, nil
}

// Check implements driver.Source. It requires that the table exists, has its number of buckets, and has no
// other group.
func (s *source) Check(ctx context.Context) error {
	_, err := s.ob.buckets(ctx)
	if errors.Is(err, outbox.ErrNotMigrated) {
		return errors.Join(driver.ErrSourceUnusable, err)
	}
	if err != nil {
		return err
	}
	l, err := s.ob.readLease(ctx)
	if err == nil {
		err = s.ours(l)
	}
	return err
}

// ours returns an error if the lease is that of another group.
func (s *source) ours(l lease) error {
	if l.group != "" && l.group != s.group {
		return fmt.Errorf("%w: the outbox in %s has the group %q, and no other can be had: Group = %q", driver.ErrSourceUnusable, s.ob.cfg.Table, l.group, s.group)
	}
	return nil
}

// Acquire implements driver.Source. A lease whose holder has died is free once it has not been
// renewed for its ttl, as observed by this process or by the clock of DynamoDB.
func (s *source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if ttl <= 0 {
		return nil, outbox.ConfigError("ttl", ttl, "must be positive")
	}
	if _, err := s.ob.buckets(ctx); err != nil {
		return nil, err
	}
	before, err := s.ob.readLease(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.ours(before); err != nil {
		return nil, err
	}
	if left := s.ob.seen.left(before); left > 0 {
		return nil, &driver.LeaseHeldError{Owner: before.owner, Remaining: left}
	}
	next, err := before.taken(s.group, ttl)
	if err != nil {
		return nil, err
	}
	// Not the number that this process remembers: the table may have been created again.
	buckets, err := s.ob.readBuckets(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	there, err := s.ob.writeLease(ctx, before, next)
	if err != nil {
		return nil, err
	}
	if there.nonce != next.nonce { // another process was faster
		return nil, &driver.LeaseHeldError{Owner: there.owner, Remaining: max(s.ob.seen.left(there), time.Millisecond)}
	}
	s.ob.seen.note(next, began)
	session := newSession(s, next, began, buckets)
	session.first = before.nonce == ""
	return session, nil
}
