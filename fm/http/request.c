/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* request: the list of them, and the suspension of their connections. */
#include "fm/http/request.h"
#include "fm/http/serve.h"

void request_init(struct request *request, const struct request_ops *ops, struct requests *all,
		  struct MHD_Connection *connection)
{
	*request = (struct request){
		.ops = ops, .all = all, .next = all->first, .connection = connection
	};
	all->first = request;
}

void request_fini(struct request *request)
{
	struct request **link = &request->all->first;

	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
}

void request_suspend(struct request *request)
{
	request->suspended = true;
	MHD_suspend_connection(request->connection);
}

void request_resume(struct request *request)
{
	if (!request->suspended)
		return;
	request->suspended = false;
	MHD_resume_connection(request->connection);
	serve_poke(request->all->serve);
}

void requests_resume_all(struct requests *all)
{
	for (struct request *request = all->first; request; request = request->next)
		request_resume(request);
}

struct request *request_find(const struct requests *all, const void *pointer)
{
	struct request *request = all->first;

	while (request && request != pointer)
		request = request->next;
	return request;
}
