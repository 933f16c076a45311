package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// TakesOutbox reports whether a command works on one outbox of the file, if the file has several.
func TakesOutbox(command string) bool {
	noun, _, _ := strings.Cut(command, " ")
	return !slices.Contains([]string{"run", "relay", "health", "config", "completion", "version"}, noun)
}

// OutboxNames are the names of the file's outboxes.
func (d *Deps) OutboxNames() []string {
	if d.File == nil {
		return nil
	}
	_, profile := d.FileAndProfile()
	return d.File.OutboxNames(profile)
}

// NameOutbox sets the place of one of the file's outboxes in the settings: the one named by --outbox or
// LEAT_OUTBOX, or the only one.
func (d *Deps) NameOutbox() error {
	names := d.OutboxNames()
	if len(names) == 0 {
		return nil
	}
	asked := d.Globals.Settings().Or(settings.FromEnv(d.Process.LookupEnv)).Outbox
	_, profile := d.FileAndProfile()
	switch {
	case slices.Contains(names, asked.Value):
	case asked.Set() && asked.Value != settings.Defaults(d.Settings.Database.Value).Outbox.Value && !d.File.HasTable(profile, asked.Value) &&
		asked.Value != d.File.Outbox.Value:
		return Usage(asked.From, asked.Value, fmt.Sprintf("is not an outbox of the file, which has %q", names))
	case asked.Set() || len(names) > 1 || d.File.Outbox.Set():
		return nil
	default:
		asked.Value = names[0]
	}
	s, err := d.SettingsOf(asked.Value)
	if err == nil {
		d.Settings, d.Named = s, asked.Value
	}
	return err
}

// SettingsOf returns the settings with the place of an outbox of the file.
func (d *Deps) SettingsOf(name string) (settings.Settings, error) {
	_, profile := d.FileAndProfile()
	o, err := d.File.OutboxOf(profile, name, d.Process.LookupEnv)
	if err != nil {
		return settings.Settings{}, err
	}
	base, err := d.WithoutName()
	return base.Of(o), err
}

// WithoutName returns the settings without a named outbox.
func (d *Deps) WithoutName() (settings.Settings, error) {
	_, profile := d.FileAndProfile()
	said, err := d.File.SettingsOf(profile, d.Process.LookupEnv, "kafka", "registry", "keys")
	if err != nil {
		return said, err
	}
	s := d.Globals.Settings().Or(settings.FromEnv(d.Process.LookupEnv))
	s.Outbox = settings.Text{}
	s = s.Or(said)
	return s.Or(settings.Defaults(s.Database.Value)), nil
}

// ErrNoOutboxes is returned for --all if the file names no outboxes.
var ErrNoOutboxes = UsageError{Err: errors.New("--all: the file names no outboxes")}

// EachOutbox calls do for each outbox of the file, with its place, and returns all errors.
func (d *Deps) EachOutbox(do func(name string, sub *Deps) error) error {
	names := d.OutboxNames()
	if len(names) == 0 {
		return ErrNoOutboxes
	}
	var all []error
	for _, name := range names {
		s, err := d.SettingsOf(name)
		if err == nil {
			err = d.At(s, func(sub *Deps) error {
				sub.Named = name
				return do(name, sub)
			})
		}
		if err != nil && !errors.Is(err, ErrFindings) {
			err = fmt.Errorf("outbox %s: %w", name, err)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// At calls do with other settings.
func (d *Deps) At(s settings.Settings, do func(sub *Deps) error) error {
	sub := *d
	sub.Settings, sub.database, sub.cancel = s, nil, func() {}
	defer sub.Close()
	return do(&sub)
}

// OutboxesOfFile opens all outboxes of the file, until d is closed.
func (d *Deps) OutboxesOfFile() (map[string]admin.Outbox, error) {
	all := make(map[string]admin.Outbox)
	for _, name := range d.OutboxNames() {
		s, err := d.SettingsOf(name)
		if err != nil {
			return nil, err
		}
		if all[name], err = d.beside(s).Store(""); err != nil {
			return nil, fmt.Errorf("outbox %s: %w", name, err)
		}
	}
	return all, nil
}

// InboxesOfFile opens all inboxes of the file, until d is closed.
func (d *Deps) InboxesOfFile() (map[string]inboxadmin.Inbox, error) {
	all := make(map[string]inboxadmin.Inbox)
	if d.File == nil {
		return all, nil
	}
	_, profile := d.FileAndProfile()
	tables, err := d.File.InboxesOf(profile, d.Process.LookupEnv)
	if err != nil {
		return nil, err
	}
	base, err := d.WithoutName()
	if err != nil {
		return nil, err
	}
	for _, in := range tables {
		s := base.OfInbox(in)
		name := cmp.Or(in.Name.Value, s.Inbox.Value)
		db, err := d.beside(s).Open()
		if err == nil {
			all[name], err = db.Inbox()
		}
		if err != nil {
			return nil, fmt.Errorf("inbox %s: %w", name, err)
		}
	}
	return all, nil
}

// beside returns d with other settings. It is closed with d.
func (d *Deps) beside(s settings.Settings) *Deps {
	sub := *d
	sub.Settings, sub.database, sub.cancel, sub.also = s, nil, func() {}, nil
	d.also = append(d.also, &sub)
	return &sub
}
