;;; assay-batch.el --- Adapt batch mode for a kernel  -*- lexical-binding: t -*-

;;; Commentary:

;; In batch mode Emacs writes messages to stderr, reads events from stdin without
;; end if that is empty, exits on an error in a process filter, and continues to
;; read commands after an overflow of the C stack.  Here messages and errors in
;; filters and timers become text of the run, reading input is an error, and an
;; overflow of the stack exits Emacs.

;;; Code:

(require 'assay-text)

(defvar comp-enable-subr-trampolines)
(defvar native-comp-enable-subr-trampolines)

(defconst assay-batch--flush-terminal (symbol-function 'send-string-to-terminal)
  "The original function, which writes to stdout and flushes it.")

(defun assay-batch-install ()
  "Adapt this process, permanently."
  (prefer-coding-system 'utf-8-unix)
  (setq locale-coding-system 'utf-8-unix
        text-quoting-style 'straight
        command-error-function #'assay-batch--report-error
        top-level '(assay-batch--exit-stack-overflow)
        gc-cons-threshold (ash 16 20))
  (let ((comp-enable-subr-trampolines nil) ; compiled Lisp may keep calling the originals
        (native-comp-enable-subr-trampolines nil))
    (fset 'message #'assay-batch--message)
    (fset 'send-string-to-terminal #'assay-batch--write)
    (dolist (function '(read-char read-char-exclusive read-event read-key-sequence
                        read-key-sequence-vector recursive-edit))
      (fset function #'assay-batch--no-input)))
  (add-hook 'kill-emacs-hook #'assay-batch-flush)
  ;; Emacs 28 writes a warning to stderr about each process that ends, until one
  ;; was started in this way.
  (set-process-query-on-exit-flag
   (make-process :name "assay-first" :command '("true") :connection-type 'pipe) nil))

(defun assay-batch-flush ()
  "Send what was printed, and flush the stdout of the C library."
  (assay-text-flush)
  (funcall assay-batch--flush-terminal ""))

(defun assay-batch--message (format &rest arguments)
  "Print the message of FORMAT and ARGUMENTS as a line, and return it.
Print nothing if FORMAT is nil or `inhibit-message' is set."
  (let ((text (and format (apply #'format-message format arguments))))
    (when (and text (not inhibit-message))
      (assay-text-add (concat text "\n")))
    text))

(defun assay-batch--write (text &optional _terminal)
  "Print TEXT, a string."
  (assay-text-add text))

(defun assay-batch--no-input (&rest _)
  "Signal the error of reading text from an empty stdin."
  (signal 'end-of-file '("Error reading from stdin")))

(defun assay-batch--exit-stack-overflow ()
  "Exit Emacs after an overflow of the C stack."
  (princ "kernel: C stack overflow\n" #'external-debugging-output)
  (kill-emacs 70))

(defun assay-batch--report-error (condition context _caller)
  "Print CONDITION, an error of the kind of code that CONTEXT names."
  (assay-text-add (concat context (assay-describe condition) "\n")))

(provide 'assay-batch)
;;; assay-batch.el ends here
