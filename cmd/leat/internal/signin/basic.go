package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/leat-go/leat/middleware/dashboard"
)

var (
	errPassword = errors.New("name or password is wrong")
	errToken    = errors.New("the token is not known")
)

// basicChallenge makes browsers ask for a password.
const basicChallenge = `Basic realm="leat", charset="UTF-8"`

const (
	// mostCost bounds the cost of a hash, and so the time that one password takes.
	mostCost = 14
	// longestTurn is how long a request waits for its turn.
	longestTurn = 2 * time.Second
)

// Basic asks for a name and a password. path has lines of the form NAME:BCRYPT:ROLES, as htpasswd -nB
// prints them, with the roles appended.
func Basic(path string) (Method, error) {
	b, err := newBasic(path)
	if err != nil {
		return nil, err
	}
	return b.identify, nil
}

func newBasic(path string) (*basic, error) {
	accounts, err := readAccounts(path)
	if err != nil {
		return nil, err
	}
	b := &basic{accounts: map[string]account{}, known: map[string][]byte{}, turns: make(chan struct{}, 1), key: make([]byte, 32)}
	_, _ = rand.Read(b.key) // never fails
	for _, a := range accounts {
		cost, err := bcrypt.Cost([]byte(a.hash))
		if err != nil {
			return nil, fmt.Errorf("%s: %q has no hash of bcrypt: %w", path, a.name, err)
		}
		if cost > mostCost {
			return nil, fmt.Errorf("%s: %q has a hash of cost %d: must be at most %d, which takes a second", path, a.name, cost, mostCost)
		}
		b.accounts[a.name], b.any = a, a.hash
	}
	return b, nil
}

// basic caches correct passwords by a keyed hash: bcrypt takes a tenth of a second, and a page makes many
// requests.
type basic struct {
	accounts map[string]account
	// any is a hash to check if the name is not known, so that this takes as long.
	any   string
	key   []byte
	turns chan struct{} // one at a time, which bounds the work that anonymous clients can cause

	mu    sync.Mutex
	known map[string][]byte
}

func (b *basic) identify(r *http.Request) (dashboard.Identity, error) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return dashboard.Identity{}, &dashboard.SignInError{Challenge: basicChallenge, Err: errAbsent}
	}
	a, known := b.accounts[name]
	if !known {
		a.hash = b.any
	}
	right, err := b.right(r, name, password, a.hash)
	if err != nil {
		return dashboard.Identity{}, err
	}
	if !right || !known {
		return dashboard.Identity{}, &dashboard.SignInError{Challenge: basicChallenge, Err: fmt.Errorf("%w: %.100q", errPassword, name)}
	}
	return dashboard.Identity{Actor: name, Roles: a.roles, Mode: "basic"}, nil
}

func (b *basic) right(r *http.Request, name, password, hash string) (bool, error) {
	mac := hmac.New(sha256.New, b.key)
	mac.Write([]byte(password))
	sum := mac.Sum(nil)
	b.mu.Lock()
	seen := hmac.Equal(b.known[name], sum)
	b.mu.Unlock()
	if seen {
		return true, nil
	}
	patience := time.NewTimer(longestTurn)
	defer patience.Stop()
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	case <-patience.C:
		return false, fmt.Errorf("%w: others are signing in", dashboard.ErrBusy)
	case <-r.Context().Done():
		return false, r.Context().Err()
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
		return false, nil
	}
	if _, known := b.accounts[name]; known {
		b.mu.Lock()
		b.known[name] = sum
		b.mu.Unlock()
	}
	return true, nil
}

// Bearer asks for a token, for programs. path has lines of the form NAME:SHA256:ROLES, with the hash of the
// token in hexadecimal. Tokens must be long and random, since a fast hash does not protect others.
func Bearer(path string) (Method, error) {
	accounts, err := readAccounts(path)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if sum, err := hex.DecodeString(a.hash); err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%s: %q has no SHA-256 in hexadecimal", path, a.name)
		}
	}
	return func(r *http.Request) (dashboard.Identity, error) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return dashboard.Identity{}, &dashboard.SignInError{Challenge: "Bearer", Err: errAbsent}
		}
		sum := sha256.Sum256([]byte(token))
		text := []byte(hex.EncodeToString(sum[:]))
		for _, a := range accounts {
			if subtle.ConstantTimeCompare(text, []byte(strings.ToLower(a.hash))) == 1 {
				return dashboard.Identity{Actor: a.name, Roles: a.roles, Mode: "bearer"}, nil
			}
		}
		return dashboard.Identity{}, &dashboard.SignInError{Challenge: "Bearer", Err: errToken}
	}, nil
}
