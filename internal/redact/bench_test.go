package redact_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/redact"
)

// BenchmarkMessages measures what it costs to look for three keys in a message: a small one, a
// picture, and text with line breaks.
func BenchmarkMessages(b *testing.B) {
	random := make([]byte, 3<<18)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	r, err := redact.New(redact.Config{Environ: []string{"A_KEY=" + apiKey, "B_KEY=" + strings.Repeat("kq7Z", 10), "C_TOKEN=correct-horse-battery"}})
	require.NoError(b, err)
	for name, message := range map[string]string{
		"200B":    `{"type":"agent_action","action":"create_cell","params":{"position":0,"cell_type":"code","source":"import pandas as pd\ndf = pd.read_csv('data.csv')\ndf.describe()","auto_run":true},"tx_id":"tx_123"}`,
		"picture": fmt.Sprintf(`{"type":"cell_output","output":{"data":{"image/png":%q}}}`, base64.StdEncoding.EncodeToString(random)),
		"text":    fmt.Sprintf(`{"type":"kernel_stdio","data":%q}`, strings.Repeat("epoch 17, loss 0.125, took 3 s\n", 1<<15)),
	} {
		b.Run(name, func(b *testing.B) {
			messages := redact.NewMessages[int](r)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			text := []byte(message)
			for b.Loop() {
				messages.Next(0, text)
			}
		})
	}
}
