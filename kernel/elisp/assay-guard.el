;;; assay-guard.el --- Running code that fails, quits, throws or never ends  -*- lexical-binding: t -*-

;;; Commentary:

;; The server interrupts with SIGUSR2, at which Emacs, where `debug-on-event'
;; says so, raises a quit wherever it is and calls the debugger on it.  Here:
;;
;; - the signal counts only while code of the user's runs; `debug-on-event' is
;;   nil everywhere else, and there it does nothing;
;; - the debugger is a function that looks whether the server has really asked
;;   to stop what runs.  If not, because the signal was meant for what ran
;;   before, it returns and the code goes on as if nothing had been;
;; - the first time the code gets a quit, which it may handle to clean up.  The
;;   next time it is left by a throw that it cannot catch.
;;
;; The order in which the variables are bound matters: the signal's handler sets
;; `inhibit-quit' to nil, so it must be off before and on after that is bound.

;;; Code:

(defvar assay-guard-stopped-function #'ignore
  "Tells whether what runs was stopped.  It must not be interrupted.")

(defvar assay-guard--tag nil "Where the run is left to; nil: nothing runs.")
(defvar assay-guard--struck nil "When what runs was first interrupted, or nil.")

(defconst assay-guard--patience 0.2
  "Seconds that code has to clean up before it can be left by a throw.")

(defmacro assay-shielded (&rest body)
  "Evaluate BODY, which no signal can interrupt.
A stop that came meanwhile is for `assay-guard-look' to find."
  (declare (indent 0) (debug t))
  `(let* ((debug-on-event nil)
          (inhibit-quit t))
     ,@body))

(defun assay-guard-install ()
  "Make the whole process one where signals do nothing but where code is guarded."
  (setq debug-on-event nil
        inhibit-quit t
        debugger #'assay-guard--debugger
        backtrace-on-error-noninteractive nil)
  ;; The signal's handler has the debugger called at the next function call too.
  ;; Where that comes before the quit, the quit would meet the call itself, and
  ;; nobody would have looked into it.  Emacs binds the variable of this name, as
  ;; it finds it, to t for the call; so quits wait for what the debugger decides.
  (unintern "debugger-may-continue" obarray)
  (defvaralias (intern "debugger-may-continue") 'inhibit-quit))

(defun assay-guard (function)
  "Call FUNCTION, without arguments, so that it comes back whatever it does.
Return (t . VALUE), or (nil . CONDITION) where it failed or was interrupted.
Within a guard a second one adds nothing but that."
  (if assay-guard--tag
      (assay-guard-catch function)
    (when (input-pending-p)
      (discard-input)) ; signals that came while they did not count
    (let ((assay-guard--tag (list 'stopped))
          (assay-guard--struck nil)
          (outcome (list nil 'quit))
          (signalled nil))
      (catch assay-guard--tag
        (setq outcome (assay-guard-catch
                       (lambda () (assay-guard--exposed function)))))
      ;; No function may be called before the variables are set: it would quit.
      (setq signalled debug-on-quit
            debug-on-quit nil
            debug-on-next-call nil
            quit-flag nil)
      (when signalled ; and perhaps not noticed
        (funcall assay-guard-stopped-function))
      outcome)))

(defun assay-guard-catch (function)
  "Call FUNCTION and return the outcome, as `assay-guard' does, signals left aside."
  (let ((outcome (list nil 'no-catch 'top-level nil)))
    (catch 'top-level
      (setq outcome (condition-case condition
                        (cons t (funcall function))
                      (t (cons nil condition)))))
    outcome))

(defun assay-guard--exposed (function)
  "Call FUNCTION while the signal counts.
One that came before has brought a stop with it, which is looked for."
  (let* ((debug-on-signal t) ; the debugger first, even where quits are handled
         (debugger #'assay-guard--debugger)
         (inhibit-quit nil)
         (debug-on-event 'sigusr2))
    (assay-guard-look)
    (funcall function)))

(defun assay-guard--debugger (reason &optional value &rest _)
  "Look into a signal, if one is the REASON to call this.
VALUE is that of a frame which was marked by the signal, and must be returned."
  ;; Emacs hands a quit to the debugger once only between two events of input.
  (setq num-nonmacro-input-events (1+ num-nonmacro-input-events))
  (when debug-on-quit ; set by the signal's handler only
    (setq debug-on-quit nil
          debug-on-next-call nil
          quit-flag nil)
    (assay-guard--strike))
  (and (eq reason 'exit) value))

(defun assay-guard-look ()
  "Interrupt what runs if it was stopped and does not know yet.
For where a signal may have come and not counted."
  (unless assay-guard--struck
    (assay-guard--strike)))

(defun assay-guard--strike ()
  "End what runs if it was stopped.
Where a stop is both found and signalled that is one strike, not two."
  (when (and assay-guard--tag (assay-guard--stopped-p))
    (let ((now (float-time)))
      (cond
       ((null assay-guard--struck)
        (setq assay-guard--struck now)
        (signal 'quit nil))
       ((> (- now assay-guard--struck) assay-guard--patience)
        (throw assay-guard--tag nil))))))

(defun assay-guard--stopped-p ()
  "Whether what runs was stopped.  It may be at any point of C code."
  (assay-shielded
    (let ((gc-cons-threshold most-positive-fixnum))
      (save-match-data (funcall assay-guard-stopped-function)))))

(provide 'assay-guard)
;;; assay-guard.el ends here
