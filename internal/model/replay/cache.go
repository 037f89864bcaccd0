package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// Cache is a folder with replies of models: one file per reply, each a [Recording] with one
// call. A file is written whole or not at all, so that several processes may share a folder.
// It is safe for concurrent use.
type Cache struct {
	dir string
	log *slog.Logger
}

// OpenCache returns the cache in a folder, which it creates if it does not exist. It fails if
// the folder cannot be written. What is wrong with an entry is logged; nil discards it.
func OpenCache(dir string, log *slog.Logger) (*Cache, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, tempPattern)
	if err != nil {
		return nil, err
	}
	return &Cache{dir: dir, log: log}, errors.Join(file.Close(), os.Remove(file.Name()))
}

// tempPattern is the pattern of the names of files that are being written.
const tempPattern = ".new-*"

// CacheScope is an epoch of a case and a try of it. Equal calls in different scopes are
// different samples of the model, so they have separate replies.
type CacheScope struct {
	Epoch int `json:"epoch"`
	Try   int `json:"try"`
}

// AttemptCache is a [Cache] as the calls of one agent see it. It is safe for concurrent use.
type AttemptCache struct {
	cache      *Cache
	normalizer Normalizer
	replacers  sandboxPathReplacers
	scope      CacheScope

	mu    sync.Mutex
	taken map[string]map[int]bool // by key: the numbers of the calls that are in flight or got a reply
}

// ForAttempt returns the cache for the calls of one agent. The Normalizer describes the agent's
// run, as for recordings.
func (c *Cache) ForAttempt(n Normalizer, scope CacheScope) *AttemptCache {
	n.Session = ""
	return &AttemptCache{cache: c, normalizer: n, replacers: n.newReplacers(), scope: scope, taken: map[string]map[int]bool{}}
}

// CacheKey is what a call must have in common with an earlier one to get its reply, beside the
// scope and how often the call was made. How the reply is streamed makes no difference, nor does
// what recordings do not contain.
type CacheKey struct {
	API      string `json:"api"`      // messages, chat or responses
	Model    string `json:"model"`    // such as openai/gpt-5
	Endpoint string `json:"endpoint"` // URL of the model's API
	Features string `json:"features"` // that headers of the request switch on
	Request  []byte `json:"-"`        // body of the request, in which the name of the model is ignored
}

// CacheSlot is the place of one call in a cache. Its user must call Release when the call has
// ended.
type CacheSlot struct {
	attempt *AttemptCache
	key     string
	number  int // of the call among equal ones of the attempt, from 1
	file    string
	request comparableRequest
	isKept  bool // the call has a reply
}

// Reserve returns the place of a call: that of the first, second, … equal call of the attempt. A
// call that gets no reply gives its number back, so that its repetition has the same place. It
// fails if the request is not a JSON object.
func (a *AttemptCache) Reserve(key CacheKey) (*CacheSlot, error) {
	body, err := a.replacers.normalizeBody(key.API, key.Request)
	if err != nil {
		return nil, err
	}
	canonical, err := canonicalRequestJSON(body)
	if err != nil {
		return nil, err
	}
	head, err := rawjson.Marshal(struct {
		CacheKey
		CacheScope
	}{key, a.scope})
	if err != nil {
		return nil, err
	}
	s := &CacheSlot{attempt: a, key: string(head) + canonical, number: 1, request: comparableRequest{api: key.API, raw: body, canonical: canonical}}
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.taken[s.key]
	if taken == nil {
		taken = map[int]bool{}
		a.taken[s.key] = taken
	}
	for taken[s.number] {
		s.number++
	}
	taken[s.number] = true
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", s.key, s.number))
	s.file = filepath.Join(a.cache.dir, hex.EncodeToString(sum[:])+".jsonl")
	return s, nil
}

// Release gives the number of the call back unless the call has a reply. Further calls do nothing.
func (s *CacheSlot) Release() {
	if s == nil {
		return
	}
	s.attempt.mu.Lock()
	defer s.attempt.mu.Unlock()
	if !s.isKept {
		s.isKept = true
		delete(s.attempt.taken[s.key], s.number)
	}
}

// keep makes later calls get other places.
func (s *CacheSlot) keep() {
	s.attempt.mu.Lock()
	defer s.attempt.mu.Unlock()
	s.isKept = true
}

// Load returns the reply of an earlier run, or nil if there is none. An entry that cannot be read
// is none.
func (s *CacheSlot) Load() *model.Response {
	response, err := s.read()
	switch {
	case err == nil:
		s.keep()
		return response
	case !errors.Is(err, fs.ErrNotExist):
		s.attempt.cache.log.Warn("an entry of the cache of replies is ignored", "file", s.file, "error", err)
	}
	return nil
}

func (s *CacheSlot) read() (*model.Response, error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	call, err := parseRecordedCall(bytes.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	isSame, err := call.key.equal(&s.request)
	switch {
	case err != nil:
		return nil, err
	case !isSame:
		return nil, errors.New("it is of another request")
	case call.origin.recorded.Response == nil || call.origin.recorded.Error != nil:
		return nil, errors.New("it has no complete reply")
	}
	answer, err := s.attempt.replacers.restoreRecorded(*call.origin.recorded)
	return answer.Response, err
}

// Store writes the reply of a call. The call must have no error.
func (s *CacheSlot) Store(c Call) error {
	s.keep()
	file, err := os.CreateTemp(s.attempt.cache.dir, tempPattern)
	if err != nil {
		return err
	}
	err = errors.Join(s.attempt.normalizer.NewRecorder(file).Record(c), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
