package testenv_test

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}
