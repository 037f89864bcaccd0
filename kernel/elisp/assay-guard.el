;;; assay-guard.el --- Run code that may fail, throw or never end  -*- lexical-binding: t -*-

;;; Commentary:

;; The server interrupts with SIGUSR2.  If `debug-on-event' says so, Emacs then
;; quits at any point, and calls the debugger for that quit.  Here:
;;
;; - the signal has an effect only while code of the user runs; elsewhere
;;   `debug-on-event' is nil;
;; - the debugger is a function that looks whether the server has really stopped
;;   the running task.  If not, because the signal was meant for an earlier one,
;;   it returns and the code continues as if nothing had happened;
;; - the first time, the code gets a quit, which it may handle to clean up.  The
;;   next time it is ended by a throw that it cannot catch.
;;
;; The order in which variables are bound matters: the signal's handler sets
;; `inhibit-quit' to nil, so the signal must be disabled before `inhibit-quit' is
;; bound, and enabled after.

;;; Code:

(defvar assay-guard-stopped-function #'ignore
  "Function that returns whether the running task was stopped.
It must not be interrupted.")

(defvar assay-guard--tag nil "Catch tag that ends the guarded code; nil: none runs.")
(defvar assay-guard--interrupted-at nil "Time of the first interrupt of the guarded code, or nil.")

(defconst assay-guard--cleanup-grace 0.2
  "Seconds that code has to clean up before it is ended by a throw.")

(defmacro assay-guard-without-interrupts (&rest body)
  "Evaluate BODY, which no signal can interrupt.
Call `assay-guard-check-stopped' afterwards to notice a stop."
  (declare (indent 0) (debug t))
  `(let* ((debug-on-event nil)
          (inhibit-quit t))
     ,@body))

(defun assay-guard-install ()
  "Make signals have no effect except on guarded code."
  (setq debug-on-event nil
        inhibit-quit t
        debugger #'assay-guard--debugger
        backtrace-on-error-noninteractive nil)
  ;; The signal's handler also makes Emacs call the debugger at the next function
  ;; call.  If that happens before the quit, the quit would interrupt the debugger
  ;; before it has looked for a stop.  Emacs binds the variable of this name to t
  ;; during that call.  As an alias it inhibits quits until the debugger has
  ;; decided.
  (unintern "debugger-may-continue" obarray)
  (defvaralias (intern "debugger-may-continue") 'inhibit-quit))

(defun assay-guard (function)
  "Call FUNCTION without arguments, and return even if it never would.
The value is (t . VALUE), or (nil . CONDITION) if it failed or was interrupted.
A guard inside a guard only catches errors."
  (if assay-guard--tag
      (assay-guard-catch function)
    (when (input-pending-p)
      (discard-input)) ; signals that came while they had no effect
    (let ((assay-guard--tag (list 'stopped))
          (assay-guard--interrupted-at nil)
          (outcome (list nil 'quit))
          (signalled nil))
      (catch assay-guard--tag
        (setq outcome (assay-guard-catch
                       (lambda () (assay-guard--call-interruptible function)))))
      ;; Calling a function before these variables are set would quit.
      (setq signalled debug-on-quit
            debug-on-quit nil
            debug-on-next-call nil
            quit-flag nil)
      (when signalled ; perhaps the stop was not read yet
        (funcall assay-guard-stopped-function))
      outcome)))

(defun assay-guard-catch (function)
  "Call FUNCTION and return like `assay-guard', but do not enable signals."
  (let ((outcome (list nil 'no-catch 'top-level nil)))
    (catch 'top-level
      (setq outcome (condition-case condition
                        (cons t (funcall function))
                      (t (cons nil condition)))))
    outcome))

(defun assay-guard--call-interruptible (function)
  "Call FUNCTION with the signal enabled.
First look for a stop whose signal came before."
  (let* ((debug-on-signal t) ; call the debugger even for quits that are handled
         (debugger #'assay-guard--debugger)
         (inhibit-quit nil)
         (debug-on-event 'sigusr2))
    (assay-guard-check-stopped)
    (funcall function)))

(defun assay-guard--debugger (reason &optional value &rest _)
  "Interrupt the guarded code if a signal is why Emacs calls this function.
REASON and VALUE are as for any `debugger'; VALUE must be returned on exit."
  ;; Between two input events Emacs calls the debugger for only one quit.
  (setq num-nonmacro-input-events (1+ num-nonmacro-input-events))
  (when debug-on-quit ; only the signal's handler sets it
    (setq debug-on-quit nil
          debug-on-next-call nil
          quit-flag nil)
    (assay-guard--interrupt-if-stopped))
  (and (eq reason 'exit) value))

(defun assay-guard-check-stopped ()
  "Interrupt the guarded code if it was stopped and was not interrupted yet.
For places where a signal may have come while it had no effect."
  (unless assay-guard--interrupted-at
    (assay-guard--interrupt-if-stopped)))

(defun assay-guard--interrupt-if-stopped ()
  "Interrupt the guarded code if it was stopped.
A stop that is both noticed here and signalled counts as one interrupt."
  (when (and assay-guard--tag (assay-guard--stopped-p))
    (let ((now (float-time)))
      (cond
       ((null assay-guard--interrupted-at)
        (setq assay-guard--interrupted-at now)
        (signal 'quit nil))
       ((> (- now assay-guard--interrupted-at) assay-guard--cleanup-grace)
        (throw assay-guard--tag nil))))))

(defun assay-guard--stopped-p ()
  "Return whether the guarded code was stopped, at any point of C code."
  (assay-guard-without-interrupts
    (let ((gc-cons-threshold most-positive-fixnum))
      (save-match-data (funcall assay-guard-stopped-function)))))

(provide 'assay-guard)
;;; assay-guard.el ends here
