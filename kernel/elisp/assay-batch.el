;;; assay-batch.el --- Batch mode made fit for a kernel  -*- lexical-binding: t -*-

;;; Commentary:

;; In batch mode Emacs writes messages to stderr, reads events from stdin, for
;; ever where that is empty, exits on an error in a process filter, and goes on
;; to read commands where the C stack was full.  Here messages are text of the
;; run, who asks for input is told that there is none, errors in filters and
;; timers are text too, and a full stack is the end.

;;; Code:

(require 'assay-text)

(defvar comp-enable-subr-trampolines)
(defvar native-comp-enable-subr-trampolines)

(defconst assay-batch--to-terminal (symbol-function 'send-string-to-terminal)
  "What writes to Emacs's stdout and flushes it.")

(defun assay-batch-install ()
  "Change this process for good."
  (prefer-coding-system 'utf-8-unix)
  (setq locale-coding-system 'utf-8-unix
        text-quoting-style 'straight
        command-error-function #'assay-batch--failed
        top-level '(assay-batch--overflown)
        gc-cons-threshold (ash 16 20))
  (let ((comp-enable-subr-trampolines nil) ; compiled Lisp need not see this
        (native-comp-enable-subr-trampolines nil))
    (fset 'message #'assay-batch--message)
    (fset 'send-string-to-terminal #'assay-batch--write)
    (dolist (function '(read-char read-char-exclusive read-event read-key-sequence
                        read-key-sequence-vector recursive-edit))
      (fset function #'assay-batch--no-input)))
  (add-hook 'kill-emacs-hook #'assay-batch-flush)
  ;; Emacs 28 complains on stderr about every process that ends, until one was
  ;; started in this way.
  (set-process-query-on-exit-flag
   (make-process :name "assay-first" :command '("true") :connection-type 'pipe) nil))

(defun assay-batch-flush ()
  "Send what was printed, and write out what is in the C library's stdout."
  (assay-text-flush)
  (funcall assay-batch--to-terminal ""))

(defun assay-batch--message (format &rest arguments)
  "Print the message that FORMAT and ARGUMENTS make, as a line, and return it.
Nothing is printed where FORMAT is nil, or `inhibit-message' is not."
  (let ((text (and format (apply #'format-message format arguments))))
    (when (and text (not inhibit-message))
      (assay-text-add (concat text "\n")))
    text))

(defun assay-batch--write (text &optional _terminal)
  "Print TEXT, a string, as it is."
  (assay-text-add text))

(defun assay-batch--no-input (&rest _)
  "Signal what functions that read text from the empty stdin do."
  (signal 'end-of-file '("Error reading from stdin")))

(defun assay-batch--overflown ()
  "End Emacs, which has left everything because the C stack was full."
  (princ "kernel: C stack overflow\n" #'external-debugging-output)
  (kill-emacs 70))

(defun assay-batch--failed (condition context _caller)
  "Print CONDITION, an error in code that CONTEXT names the kind of."
  (assay-text-add (concat context (assay-describe condition) "\n")))

(provide 'assay-batch)
;;; assay-batch.el ends here
