package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/wait"
)

// ACL allows one operation on one resource, or on all whose names start with its name.
type ACL struct {
	Operation kmsg.ACLOperation
	// Resource is "topic", "group" or "transactional-id", as kafka-acls.sh calls them.
	Resource, Name string
	Prefixed       bool
}

// String is what an operator grants.
func (a ACL) String() string { return a.Operation.String() + " on " + a.Resource + " " + a.Name }

// Allow gives user what acls say. On return the broker allows it.
func (s *SecuredServer) Allow(tb testing.TB, user string, acls ...ACL) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	for _, a := range acls {
		made, err := s.admin.CreateACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		for _, m := range made {
			err = errors.Join(err, m.Err)
		}
		if err != nil {
			tb.Fatalf("allow %s %v: %v", user, a, err)
		}
		s.awaitACL(ctx, tb, user, a, true)
	}
}

// Withdraw takes what acls say from user. On return the broker does not allow it any more.
func (s *SecuredServer) Withdraw(tb testing.TB, user string, acls ...ACL) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	for _, a := range acls {
		gone, err := s.admin.DeleteACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		for _, g := range gone {
			err = errors.Join(err, g.Err)
		}
		if err != nil {
			tb.Fatalf("withdraw %v from %s: %v", a, user, err)
		}
		s.awaitACL(ctx, tb, user, a, false)
	}
}

// awaitACL waits until the broker has heard that user is allowed what a says, or is not.
func (s *SecuredServer) awaitACL(ctx context.Context, tb testing.TB, user string, a ACL, want bool) {
	tb.Helper()
	for allowed := !want; allowed != want; {
		left, err := s.admin.DescribeACLs(ctx, a.builder().Allow("User:"+user).AllowHosts("*"))
		allowed = false
		for _, l := range left {
			err = errors.Join(err, l.Err)
			allowed = allowed || len(l.Described) > 0
		}
		if err = errors.Join(err, wait.For(ctx, time.Millisecond)); err != nil {
			tb.Fatalf("%s %v, allowed %t: %v", user, a, want, err)
		}
	}
}

func (a ACL) builder() *kadm.ACLBuilder {
	b := kadm.NewACLs().Operations(a.Operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if a.Prefixed {
		b.ResourcePatternType(kadm.ACLPatternPrefixed)
	}
	switch a.Resource {
	case "topic":
		return b.Topics(a.Name)
	case "group":
		return b.Groups(a.Name)
	default:
		return b.TransactionalIDs(a.Name)
	}
}

// DocumentedACLs returns what the commands of a section of docs/kafka-security.md allow,
// with other names for those of the document. A section begins with "### " and its title.
func DocumentedACLs(tb testing.TB, section string, names map[string]string) []ACL {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../docs/kafka-security.md"))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "### "+section+"\n")
	if !found {
		tb.Fatalf("docs/kafka-security.md has no section %q", section)
	}
	rest, _, _ = strings.Cut(rest, "\n### ")
	var acls []ACL
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "kafka-acls.sh ") {
			continue
		}
		of, err := parseACLs(strings.Fields(line), names)
		if err != nil {
			tb.Fatalf("docs/kafka-security.md: %s: %v", strings.TrimSpace(line), err)
		}
		acls = append(acls, of...)
	}
	if len(acls) == 0 {
		tb.Fatalf("docs/kafka-security.md allows nothing in section %q", section)
	}

	return acls
}

// parseACLs reads a command of kafka-acls.sh.
func parseACLs(words []string, names map[string]string) ([]ACL, error) {
	var acl ACL
	var operations []kmsg.ACLOperation
	for i := 0; i+1 < len(words); i++ {
		switch flag, value := words[i], words[i+1]; flag {
		case "--operation":
			operation, err := kmsg.ParseACLOperation(value)
			if err != nil {
				return nil, err
			}
			operations = append(operations, operation)
		case "--topic", "--group", "--transactional-id":
			name, known := names[value]
			if !known {
				return nil, fmt.Errorf("%s %s has no name in the test", flag, value)
			}
			acl.Resource, acl.Name = strings.TrimPrefix(flag, "--"), name
		case "--resource-pattern-type":
			acl.Prefixed = value == "prefixed"
		}
	}
	if acl.Resource == "" || len(operations) == 0 || !slices.Contains(words, "--add") {
		return nil, errors.New("adds nothing")
	}
	acls := make([]ACL, len(operations))
	for i, operation := range operations {
		acls[i] = acl
		acls[i].Operation = operation
	}

	return acls, nil
}
