"""Settings for all tests."""

import signal

# A job in the background of a shell starts with Ctrl-C ignored, and tests of Ctrl-C would wait for it in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
