package runs

import "sync"

// remembered is how many values a memory holds at most.
const remembered = 256

// memory is a map of what can be found out again: when it is full, something
// is forgotten for each that comes. It is safe for concurrent use.
type memory[V any] struct {
	mu     sync.Mutex
	values map[string]V
}

func (m *memory[V]) get(key string) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok = m.values[key]
	return value, ok
}

func (m *memory[V]) put(key string, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string]V{}
	}
	if _, known := m.values[key]; !known && len(m.values) >= remembered {
		for any := range m.values {
			delete(m.values, any)
			break
		}
	}
	m.values[key] = value
}
