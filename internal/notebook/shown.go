package notebook

import "assay/internal/protocol"

// shown is one output as it is to be shown: text of a stream, merged with all
// of the same stream that came right before and after it, or another output. It
// stays as it is while more outputs come.
type shown struct {
	stream string
	text   excerpt
	rich   *rich // nil for text
}

// shown returns the outputs in order.
func (t *tape) shown() []shown {
	var out showing
	for _, p := range t.head {
		out.add(p)
	}
	for _, p := range t.middle {
		out.add(p)
	}
	for i, p := range t.tail {
		if i == 0 {
			p.missing += t.gap
		}
		out.add(p)
	}
	if len(t.tail) == 0 {
		out.skip(t.gap, protocol.Stdout)
	}
	return out.list
}

type showing struct{ list []shown }

func (s *showing) add(p piece) {
	if p.rich != nil {
		s.skip(p.missing, protocol.Stdout)
		s.list = append(s.list, shown{rich: p.rich})
		return
	}
	s.skip(p.missing, p.stream)
	text := p.text[p.from:len(p.text):len(p.text)]
	last := s.last()
	switch {
	case last == nil || last.stream != p.stream:
		s.list = append(s.list, shown{stream: p.stream, text: excerpt{head: [][]byte{text}}})
	case last.text.missing > 0:
		last.text.tail = append(last.text.tail, text)
	default:
		last.text.head = append(last.text.head, text)
	}
}

// skip notes that n bytes are missing: in the text before them, else as a text
// of their own.
func (s *showing) skip(n int64, stream string) {
	if n == 0 {
		return
	}
	if last := s.last(); last != nil && last.rich == nil {
		last.text.missing += n
		return
	}
	s.list = append(s.list, shown{stream: stream, text: excerpt{missing: n}})
}

func (s *showing) last() *shown {
	if len(s.list) == 0 {
		return nil
	}
	return &s.list[len(s.list)-1]
}
