"""GPT-1 (Radford et al. 2018), the whole paper, in Keras 3."""
