// Package command has what all commands of leat share: flags, settings, the database, confirmations, output
// and exit statuses.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/payload"
	"github.com/leat-go/leat/cmd/leat/internal/progress"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Deps are the dependencies of a running command.
type Deps struct {
	// Context ends when the command is interrupted, or its timeout expires.
	Context context.Context //nolint:containedctx // a command is a call with it

	*show.Printer

	Process Process
	Command string // such as groups pause
	Globals Globals
	File    *settings.File
	// Settings lack the file's sections for Kafka and payloads, which have secrets: Kafka and Payloads look
	// them up.
	Settings settings.Settings
	Named    string // outbox of the file whose place is in Settings, "" for none
	Logger   *slog.Logger
	database open.Database
	reader   *payload.Reader // made on first use, without descriptors
	also     []*Deps         // of other outboxes, which are closed with it
	cancel   context.CancelFunc
	// inputTTY and errorTTY are set if standard input or error is a terminal.
	inputTTY, errorTTY bool
}

// NewDeps puts together what a command needs. It does not read the file if withoutFile is set.
func NewDeps(ctx context.Context, p Process, globals Globals, withoutFile bool) (*Deps, error) {
	d := &Deps{Process: p, Globals: globals, cancel: func() {}, inputTTY: terminal(p.Stdin), errorTTY: terminal(p.Stderr)}
	d.Context = ctx
	if globals.Timeout > 0 {
		d.Context, d.cancel = context.WithTimeout(ctx, time.Duration(globals.Timeout))
	}
	d.Logger = slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	said, err := d.Say(withoutFile, "kafka", "registry", "keys")
	if err != nil {
		return nil, err
	}
	d.Settings = said
	if err := checkNames(said); err != nil {
		return nil, err
	}
	d.Printer, err = newPrinter(p, said)
	return d, err
}

// Close closes everything that was opened.
func (d *Deps) Close() {
	d.cancel()
	for _, sub := range d.also {
		sub.Close()
	}
	if d.database != nil {
		d.database.Close()
	}
}

// Say merges the settings of flags, variables and the file, in this order of precedence. It skips sections of
// the file that leaveOut names.
func (d *Deps) Say(withoutFile bool, leaveOut ...string) (settings.Settings, error) {
	s := d.Globals.Settings().Or(settings.FromEnv(d.Process.LookupEnv))
	path, profile := d.FileAndProfile()
	if withoutFile {
		path, profile = "", ""
	}
	if path == "" && profile != "" {
		return s, Usage("--profile", profile, "needs a file: --config or LEAT_CONFIG")
	}
	if path == "" {
		return s.Or(settings.Defaults(s.Database.Value)), nil
	}
	file, err := settings.Read(path)
	if err != nil {
		return s, ConfigError(path, err)
	}
	d.File = file
	said, err := file.SettingsOf(profile, d.Process.LookupEnv, leaveOut...)
	if err != nil {
		return s, err
	}
	s = s.Or(said)
	return s.Or(settings.Defaults(s.Database.Value)), nil
}

// Whole returns the settings with all sections of the file, except for those that leaveOut names.
func (d *Deps) Whole(leaveOut ...string) (settings.Settings, error) {
	if d.File == nil {
		return d.Settings, nil
	}
	_, profile := d.FileAndProfile()
	said, err := d.File.SettingsOf(profile, d.Process.LookupEnv, leaveOut...)
	return d.Settings.Or(said), err
}

// Kafka returns the settings of the cluster, with other brokers unless brokers is "".
func (d *Deps) Kafka(brokers string) (settings.Kafka, error) {
	said, err := d.Whole("registry", "keys")
	if brokers != "" {
		said.Kafka.Brokers.Value = brokers
	}
	return said.Kafka, err
}

// ConfigError is the error of reading the file at path.
func ConfigError(path string, err error) error {
	if _, ok := errors.AsType[*settings.InvalidError](err); ok {
		return err
	}
	return Usage("--config", path, err.Error())
}

// FileAndProfile returns the path and the profile that flags or variables set, "" if they do not.
func (d *Deps) FileAndProfile() (path, profile string) {
	or := func(flag, variable string) string {
		if flag == "" {
			flag, _ = d.Process.LookupEnv(variable)
		}
		return flag
	}
	return or(d.Globals.ConfigFile, "LEAT_CONFIG"), or(d.Globals.Profile, "LEAT_PROFILE")
}

// Open returns the database, which it opens once.
func (d *Deps) Open() (open.Database, error) {
	return d.OpenFor(open.Target{})
}

// OpenFor opens the database with further settings of t: a group of a forwarder, a limit of lock waits, or
// permission to create a file.
func (d *Deps) OpenFor(t open.Target) (open.Database, error) {
	if d.database != nil {
		return d.database, nil
	}
	var err error
	if t.URL, err = d.DatabaseURL(); err != nil {
		return nil, err
	}
	s := d.Settings
	t.Again = s.Database.Again
	t.Schema, t.Outbox, t.Inbox, t.Dedupe = s.Schema.Value, s.Outbox.Value, s.Inbox.Value, s.Dedupe.Value
	t.Forwarder, t.Logger = s.Forwarder.Value, d.Logger
	if s.Schema.From != "default" {
		t.ForwarderSchema = s.Schema.Value
	}
	d.database, err = open.Open(d.Context, t)
	if errors.Is(err, outbox.ErrInvalidConfig) && s.Database.From == "--database" {
		err = UsageError{Err: fmt.Errorf("--database: %w", err)}
	}
	return d.database, err
}

// DatabaseURL returns the URL of the database, "" if PG* variables configure the connection.
func (d *Deps) DatabaseURL() (string, error) {
	url := d.Settings.Database
	if url.From == "--database" && settings.HasPassword(url.Value) {
		return "", Usage(url.From, settings.Redact(url.Value), "must not have a password, which others could see: "+
			"use LEAT_DATABASE_URL, PGPASSWORD, a password file, or the configuration")
	}
	if url.Set() {
		return url.Value, nil
	}
	for _, variable := range []string{"PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		if value, _ := d.Process.LookupEnv(variable); value != "" {
			return "", nil
		}
	}
	return "", UsageError{Err: errors.New("no database: give --database, LEAT_DATABASE_URL, PG* variables, or database in the configuration")}
}

// Store returns the outbox, for a group or "".
func (d *Deps) Store(group string) (admin.Outbox, error) {
	db, err := d.OpenFor(open.Target{Group: group})
	if err != nil {
		return nil, err
	}
	return db.Outbox()
}

// StoreWith returns the outbox. It fails if the outbox has groups, and group is not one of them. With dead
// set, the group may have been removed, if dead records of it are left.
func (d *Deps) StoreWith(group string, dead bool) (admin.Outbox, error) {
	store, err := d.Store(group)
	if err == nil {
		err = d.Known(store, group, dead)
	}
	return store, err
}

// Known returns an error if store has groups, and group is not one of them.
func (d *Deps) Known(store admin.Outbox, group string, dead bool) error {
	groups, err := store.Groups(d.Context)
	if err != nil || len(groups) == 0 || slices.ContainsFunc(groups, func(g admin.Group) bool { return g.Name == group }) {
		return err
	}
	if dead {
		if left, err := store.Dead(d.Context, admin.HeldQuery{Group: group, Limit: 1, OmitPayload: true}); err != nil || len(left) > 0 {
			return err
		}
	}
	names := RowsOf(groups, func(g admin.Group) string { return g.Name })
	return fmt.Errorf("%w: %q, but %q", admin.ErrNoSuchGroup, group, names)
}

// Capable returns store as T, or an error with the name of the missing feature.
func Capable[T any](d *Deps, store any, err error, what string) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	able, ok := store.(T)
	if !ok {
		return none, UsageError{Err: fmt.Errorf("this store cannot %s: leat %s does not work on %s", what, d.Command, d.database.Product())}
	}
	return able, nil
}

// By returns the actor and the reason of a change.
func (d *Deps) By(c Changing) (admin.By, error) {
	actor := c.Actor
	if actor == "" {
		actor = d.ActorHere()
	}
	by := admin.By{Actor: actor, Reason: c.Reason}
	if err := admin.Complete(&by); err != nil {
		return by, UsageError{Err: fmt.Errorf("--actor %q, --reason %q: %w", by.Actor, by.Reason, err)}
	}
	return by, nil
}

// Payloads returns the reader that decodes payloads, from the settings and a descriptor set.
func (d *Deps) Payloads(descriptors string, protobuf []string) (*payload.Reader, error) {
	plain := descriptors == "" && len(protobuf) == 0
	if plain && d.reader != nil {
		return d.reader, nil
	}
	said, err := d.Whole("kafka")
	if err != nil {
		return nil, err
	}
	reader, err := payload.New(payload.Sources{Registry: said.Registry.Value, Keys: said.Keys.Value, Descriptors: descriptors, Protobuf: protobuf})
	wrong, ok := errors.AsType[*payload.ConfigError](err)
	switch {
	case !ok:
		if plain {
			d.reader = reader
		}
		return reader, err
	case wrong.Setting == "registry":
		return nil, Usage(said.Registry.From, settings.Redact(wrong.Value), wrong.Err.Error())
	case wrong.Setting == "keys":
		return nil, Usage(said.Keys.From, wrong.Value, wrong.Err.Error())
	default:
		return nil, Usage("--"+wrong.Setting, wrong.Value, wrong.Err.Error())
	}
}

// ActorHere is the actor of changes without --actor.
func (d *Deps) ActorHere() string {
	if d.Settings.Actor.Set() {
		return d.Settings.Actor.Value
	}
	return d.userAtHost()
}

func (d *Deps) userAtHost() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// Confirm asks the operator to confirm q.
func (d *Deps) Confirm(c Changing, q ask.Question) error {
	return ask.Asker{In: d.Process.Stdin, Out: d.Process.Stderr, Terminal: d.inputTTY, Yes: c.Yes}.Confirm(d.Context, q)
}

// Bar returns a progress bar called name.
func (d *Deps) Bar(name, unit string, total int64) *progress.Bar {
	return &progress.Bar{Out: d.Process.Stderr, Terminal: d.errorTTY, Name: name, Unit: unit, Total: total, Now: time.Now}
}

// terminal reports whether stream is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is the width of a terminal, 0 if stream is not one.
func Width(stream io.Writer) int {
	if f, ok := stream.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}
