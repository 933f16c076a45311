package testenv

import (
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// SecuredUser is a user of a secured broker who lacks a right, or none.
type SecuredUser struct {
	Name string
	// Options are those of a client that signs in as the user.
	Options []kgo.Opt
	// Lacks is nil for a user who has all rights.
	Lacks *ACL
}

// EachRight runs test for a user with all rights that sections document, and for one
// without each of them; see [DocumentedACLs]. The users are called name and a number, and
// names returns a user's names for those of the document.
func (s *SecuredServer) EachRight(
	t *testing.T, name string, sections []string, names func(user string) map[string]string, test func(t *testing.T, u *SecuredUser),
) {
	t.Helper()
	for n := 0; ; n++ {
		u := &SecuredUser{Name: name + strconv.Itoa(n)}
		var rights []ACL
		for _, section := range sections {
			rights = append(rights, DocumentedACLs(t, section, names(u.Name))...)
		}
		if n > len(rights) {
			return
		}
		title := name + "/all"
		if n > 0 {
			u.Lacks = &rights[n-1]
			title = name + "/no " + u.Lacks.String()
			rights = slices.Delete(slices.Clone(rights), n-1, n)
		}
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			u.Options = s.As(u.Name, s.User(t, u.Name))
			s.Allow(t, u.Name, rights...)
			test(t, u)
		})
	}
}
