package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/cli/diagnose"
	"github.com/leat-go/leat/cmd/leat/internal/cli/serve"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// Bundle is the command bundle.
type Bundle struct {
	File string `arg:"" optional:"" help:"File to write. Defaults to standard output." predictor:"file"`
}

const bundleHead = `leat bundle, %s
In it: versions, configuration, schemas, figures, findings, what is parked and why, who did what, metrics.
Names of hosts, databases, roles, groups and topics are in it, and texts of errors as destinations have worded them.
Not in it: payloads, headers, ids and keys of messages, reasons of the audit, secrets. Look through it before you hand it on.
`

// Run writes all that a support engineer needs to one text file.
func (b *Bundle) Run(d *command.Deps) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, bundleHead, d.Now().UTC().Format("2006-01-02 15:04:05Z"))
	bundled := &bundling{d: d, out: &out}
	if err := bundled.all(); err != nil {
		return err
	}
	text := &bytes.Buffer{}
	for line := range strings.Lines(out.String()) {
		text.WriteString(settings.Redact(strings.TrimSuffix(line, "\n")) + "\n")
	}
	if b.File == "" {
		_, err := d.Out.Write(text.Bytes())
		return err
	}
	file, err := os.OpenFile(b.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return command.Usage("the file", b.File, err.Error())
	}
	if _, err = file.Write(text.Bytes()); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	d.Note("Wrote %s. Look through it before you hand it on.", b.File)
	return nil
}

// bundling collects the output of commands.
type bundling struct {
	d   *command.Deps
	out *bytes.Buffer
}

func (b *bundling) all() error {
	_, _ = b.d.Open() // once for all sections; those that need it report why not
	if err := b.of(b.d, "", "version"); err != nil {
		return err
	}
	b.section("the configuration, without secrets", func(w io.Writer) error {
		if b.d.File == nil {
			return errors.New("there is no file")
		}
		text, err := b.d.File.Redacted(b.d.Process.LookupEnv)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		return err
	})
	if err := b.of(b.d, "", "config", "show"); err != nil {
		return err
	}
	if err := b.of(b.d, "", "migrate", "status"); err != nil {
		return err
	}
	names := b.d.OutboxNames()
	if len(names) == 0 || diagnose.OutboxAsked(b.d) {
		if err := b.outbox(b.d, ""); err != nil {
			return err
		}
	} else if err := b.d.EachOutbox(func(name string, sub *command.Deps) error { return b.outbox(sub, name) }); err != nil {
		b.section("outboxes that could not be looked at", func(io.Writer) error { return err })
	}
	for _, args := range [][]string{{"inbox", "status"}, {"inbox", "consumers"}, {"inbox", "parked", "errors"}} {
		if err := b.of(b.d, "", args...); err != nil {
			return err
		}
	}
	for _, page := range []string{"/statusz", "/metrics"} {
		b.section("the daemon's "+page, func(w io.Writer) error { return b.page(w, page) })
	}
	return b.d.Context.Err()
}

// outbox collects what is known of one outbox.
func (b *bundling) outbox(d *command.Deps, name string) error {
	store, err := d.Store("")
	for _, args := range [][]string{{"explain"}, {"status"}, {"doctor"}, {"groups", "list"}, {"retention", "ranges"}} {
		if err := b.of(d, name, args...); err != nil {
			return err
		}
	}
	var groups []admin.Group
	if err == nil {
		groups, err = store.Groups(d.Context)
	}
	if err != nil {
		return nil //nolint:nilerr // groups list has reported it
	}
	for _, g := range groups {
		for _, what := range []string{"parked", "dead"} {
			if err := b.of(d, name, what, "errors", "--group", g.Name); err != nil {
				return err
			}
		}
	}
	title := "the newest of the audit"
	if name != "" {
		title = name + ": " + title
	}
	b.section(title, func(w io.Writer) error { return audited(d.Context, printing(d, w, w), store) })
	return nil
}

// of runs a command with the settings of d.
func (b *bundling) of(d *command.Deps, name string, args ...string) error {
	root := &Root{}
	parser, err := NewParser(root, io.Discard, io.Discard, func(int) {})
	if err != nil {
		return err
	}
	selected, err := parser.Parse(args)
	if err != nil {
		return err
	}
	title := "leat " + strings.Join(args, " ")
	if name != "" {
		title = name + ": " + title
	}
	b.section(title, func(w io.Writer) error {
		sub := *d
		sub.Printer, sub.Command, sub.Globals.Outbox = printing(d, w, w), strings.Join(args[:min(len(args), 2)], " "), d.Globals.Outbox
		if name != "" {
			sub.Globals.Outbox = name // explain would ask every outbox otherwise
		}
		if err := selected.Run(&sub); !errors.Is(err, command.ErrFindings) {
			return err
		}
		return nil
	})
	return nil
}

// section writes the output of do, or its error.
func (b *bundling) section(title string, do func(w io.Writer) error) {
	fmt.Fprintf(b.out, "\n== %s\n", title)
	if err := do(b.out); err != nil {
		fmt.Fprintf(b.out, "not known: %v\n", err)
	}
}

// printing returns a Printer that prints tables to out, for a file.
func printing(d *command.Deps, out, notes io.Writer) *show.Printer {
	return &show.Printer{Out: out, Notes: notes, Format: show.Table, Times: show.UTC, Now: d.Now}
}

// mostAudited is how many entries of the audit are shown.
const mostAudited = 100

// audited prints who did what, and to which topic, but neither keys, ids nor reasons.
func audited(ctx context.Context, p *show.Printer, store admin.Outbox) error {
	entries, err := store.Audit(ctx, admin.AuditQuery{Newest: true, Limit: mostAudited})
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	list := show.List[admin.AuditEntry]{Name: "audit", Empty: "The audit is empty.", Columns: []show.Column[admin.AuditEntry]{
		{Title: "AT", Cell: func(p *show.Printer, e admin.AuditEntry) string { return p.Time(e.At) }},
		command.TextColumn("ACTION", func(e admin.AuditEntry) string { return e.Action }),
		command.TextColumn("ACTOR", func(e admin.AuditEntry) string { return e.Actor }),
		command.TextColumn("GROUP", func(e admin.AuditEntry) string { return e.Group }),
		command.TextColumn("TOPIC", func(e admin.AuditEntry) string { return e.Topic }),
	}}
	return list.Print(p, entries, "")
}

// mostPage bounds the answer of a daemon, in bytes.
const mostPage = 4 << 20

// page requests a page of the daemon that the file describes, if it runs on this machine.
func (b *bundling) page(w io.Writer, page string) error {
	address, err := (&serve.Health{}).Address(b.d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.d.Context, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+page, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // nothing secret is asked for
	}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, answer.Status)
	}
	_, err = io.Copy(w, io.LimitReader(answer.Body, mostPage))
	return err
}
