package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/outbox"
)

// ErrUnavailable is wrapped by errors of payloads whose schema could not be requested, because
// the registry did not answer, or the answer was not that of a registry. They are marked by
// inbox.Outage.
var ErrUnavailable = errors.New("the schema registry is unavailable")

// Config tunes New. Client is required.
type Config struct {
	// Client asks the registry. Required.
	Client *sr.Client

	// Register registers schemas that the registry does not have. Defaults to false: an
	// unknown schema is an error, and schemas are registered by a deployment or in CI.
	Register bool

	// Timeout bounds how long a transaction waits for the registry. Defaults to 1 s.
	Timeout time.Duration

	// Retry is how long a failure is returned before the registry is asked again. Defaults to 1
	// s.
	Retry time.Duration
}

// Registry knows the schemas of one process and their ids in a schema registry. Its methods may
// be called concurrently.
type Registry struct {
	client         *sr.Client
	register       bool
	timeout, retry time.Duration
	down           atomic.Pointer[failure] // while the registry is unavailable

	mu     sync.Mutex
	own    []*subject
	protos []*protoCodec
	ids    map[int]*answer[written]
}

// New returns a Registry. It does not ask the registry: the first payload with an unknown
// schema does, and so does Ready.
func New(cfg Config) (*Registry, error) {
	switch {
	case cfg.Client == nil:
		return nil, outbox.ConfigError("Client", nil, "is required")
	case cfg.Timeout < 0:
		return nil, outbox.ConfigError("Timeout", cfg.Timeout, "must not be negative")
	case cfg.Retry < 0:
		return nil, outbox.ConfigError("Retry", cfg.Retry, "must not be negative")
	}
	return &Registry{
		client: cfg.Client, register: cfg.Register,
		timeout: cmp.Or(cfg.Timeout, time.Second), retry: cmp.Or(cfg.Retry, time.Second),
		ids: map[int]*answer[written]{},
	}, nil
}

// Options say how a codec's schema is found in the registry.
type Options struct {
	// Subject is the subject of the schema. Defaults to the full name of the Avro record or
	// Protobuf message, and to the title of a JSON Schema, so that types share topics.
	Subject string

	// ID is the id that is written, for a process that must not depend on the registry.
	// Defaults to 0: it is looked up once.
	ID int
}

// subject is a schema of this process.
type subject struct {
	r       *Registry
	name    string
	schema  sr.Schema
	imports []*subject // by their names in the schema
	id      answer[known]
	explain func(latest string) string // why the latest version is incompatible; nil if unknown
}

// known is the registry's id and version of a schema.
type known struct{ id, version int }

func (r *Registry) add(s *subject, fallback string, o Options) error {
	s.r, s.name = r, cmp.Or(o.Subject, fallback)
	switch {
	case s.name == "":
		return outbox.ConfigError("Subject", `""`, "is required for a schema without a name")
	case o.ID < 0 || o.ID > math.MaxInt32:
		return outbox.ConfigError("ID", o.ID, "is not the id of a schema")
	case o.ID > 0:
		s.id.value.Store(&known{id: o.ID})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = append(r.own, s)
	return nil
}

func (r *Registry) subjects() []*subject {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.own)
}

// frame returns the beginning of a payload.
func (s *subject) frame() ([]byte, error) {
	k, err := s.id.get(s.r, s.ask)
	if err != nil {
		return nil, s.wrap(err)
	}
	return appendFrame(make([]byte, 0, 64), k.id), nil
}

func (s *subject) wrap(err error) error {
	return fmt.Errorf("leat: registry: subject %s: %w", s.name, err)
}

// isOwn reports whether id is that of the subject's schema, without asking.
func (s *subject) isOwn(id int) bool {
	k := s.id.value.Load()
	return k != nil && k.id == id
}

// ask looks the schema up, and registers it with Config.Register. Imports come first.
func (s *subject) ask(ctx context.Context) (known, error) {
	schema, err := s.withImports(ctx)
	if err != nil {
		return known{}, err
	}
	// Without normalize, an additional space would make another schema.
	ctx = sr.WithParams(ctx, sr.Normalize)
	found, err := s.r.client.LookupSchema(ctx, s.name, schema)
	if s.r.register && isMissing(err) {
		if _, err := s.r.client.RegisterSchema(ctx, s.name, schema, -1, -1); err != nil {
			return known{}, fmt.Errorf("not registered: %w", explain(err))
		}
		found, err = s.r.client.LookupSchema(ctx, s.name, schema)
	}
	switch {
	case isMissing(err):
		return known{}, fmt.Errorf("this version is not registered: %w", explain(err))
	case err != nil:
		return known{}, explain(err)
	case found.ID < 1 || found.ID > math.MaxInt32:
		return known{}, unavailable(errors.New("the answer has no id"))
	}
	return known{found.ID, found.Version}, nil
}

func (s *subject) withImports(ctx context.Context) (sr.Schema, error) {
	schema := s.schema
	for _, i := range s.imports {
		k, err := i.ask(ctx)
		if err != nil {
			return schema, fmt.Errorf("import %s: %w", i.name, err)
		}
		schema.References = append(schema.References, sr.SchemaReference{Name: i.name, Subject: i.name, Version: k.version})
	}
	return schema, nil
}

// Ready asks for the ids of all schemas. Call it at the start of a process: after it, encoding
// does not need the registry any more. If called again, it also notices a registry that has lost
// or renumbered its schemas. With Config.Register it registers them, as part of a deployment.
func (r *Registry) Ready(ctx context.Context) error {
	var errs []error
	for _, s := range r.subjects() {
		k, err := s.ask(ctx)
		if err != nil {
			errs = append(errs, s.wrap(err))
			continue
		}
		if !s.id.value.CompareAndSwap(nil, &k) {
			if was := s.id.value.Load(); was.id != k.id {
				errs = append(errs, s.wrap(fmt.Errorf("the registry has id %d for the schema, payloads are written with %d", k.id, was.id)))
			}
		}
	}
	return errors.Join(errs...)
}

// Check asks the registry whether all schemas are compatible with the latest versions of their
// subjects, for a test in CI. A subject that does not exist yet accepts any schema. The
// registry's configuration decides what is compatible: some check nothing by default.
func (r *Registry) Check(ctx context.Context) error {
	var errs []error
	for _, s := range r.subjects() {
		if err := s.check(ctx); err != nil {
			errs = append(errs, s.wrap(err))
		}
	}
	return errors.Join(errs...)
}

func (s *subject) check(ctx context.Context) error {
	for _, i := range s.imports {
		if err := i.check(ctx); err != nil {
			return fmt.Errorf("import %s: %w", i.name, err)
		}
	}
	latest, err := s.r.client.SchemaByVersion(ctx, s.name, -1)
	if isMissing(err) {
		return nil
	} else if err != nil {
		return explain(err)
	}
	schema, err := s.withImports(ctx)
	if err != nil {
		return err
	}
	result, err := s.r.client.CheckCompatibility(sr.WithParams(ctx, sr.Verbose, sr.Normalize), s.name, latest.Version, schema)
	switch {
	case err != nil:
		return explain(err)
	case result.Is:
		return nil
	}
	reasons := result.Messages
	if s.explain != nil {
		reasons = append(reasons, s.explain(latest.Schema.Schema))
	}
	return fmt.Errorf("incompatible with version %d: %.2000q", latest.Version, reasons)
}

// written is the writer's schema of a payload, with its references, which come first.
type written struct {
	sr.Schema
	references []string
}

// maxIDs bounds how many ids unknown to the registry are remembered.
const maxIDs = 1000

// byID returns the schema with an id.
func (r *Registry) byID(id int) (*written, error) {
	r.mu.Lock()
	a, ok := r.ids[id]
	if !ok {
		if len(r.ids) >= maxIDs {
			for id, a := range r.ids {
				if a.value.Load() == nil {
					delete(r.ids, id)
				}
			}
		}
		a = &answer[written]{}
		r.ids[id] = a
	}
	r.mu.Unlock()
	return a.get(r, func(ctx context.Context) (written, error) {
		s, err := r.client.SchemaByID(ctx, id)
		if err != nil {
			return written{}, explain(err)
		}
		if s.Schema == "" {
			return written{}, unavailable(errors.New("the answer has no schema"))
		}
		w := written{Schema: s}
		if s.Type == sr.TypeAvro {
			err = r.follow(ctx, s.References, map[sr.SchemaReference]bool{}, &w)
		}
		return w, err
	})
}

// maxReferences bounds the references that are fetched for a foreign schema.
const maxReferences = 100

// follow fetches references, the deepest ones first.
func (r *Registry) follow(ctx context.Context, refs []sr.SchemaReference, seen map[sr.SchemaReference]bool, w *written) error {
	for _, ref := range refs {
		ref.Name = ""
		if seen[ref] {
			continue
		}
		if seen[ref] = true; len(seen) > maxReferences {
			return fmt.Errorf("the schema has more than %d references", maxReferences)
		}
		s, err := r.client.SchemaByVersion(ctx, ref.Subject, ref.Version)
		if err != nil {
			return explain(err)
		}
		if err := r.follow(ctx, s.References, seen, w); err != nil {
			return err
		}
		w.references = append(w.references, s.Schema.Schema)
	}
	return nil
}
