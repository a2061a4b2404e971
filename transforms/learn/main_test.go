package learn

import (
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	_ "github.com/bochner-ml/bochner/io/formats"
)

func TestMain(m *testing.M) { prismtest.Main(m) }
