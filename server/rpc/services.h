// The services of proto/expunge/v1 as gRPC sees them: each method names its function of core, and nothing
// more.
#ifndef EXPUNGE_SERVER_RPC_SERVICES_H_
#define EXPUNGE_SERVER_RPC_SERVICES_H_

#include "expunge/v1/memory_service.grpc.pb.h"
#include "expunge/v1/unlearning_service.grpc.pb.h"
#include "server/rpc/dispatcher.h"

namespace expunge::rpc {

class MemoryServiceHandlers final : public v1::MemoryService::CallbackService {
 public:
  explicit MemoryServiceHandlers(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  grpc::ServerUnaryReactor* CreateMemory(grpc::CallbackServerContext* context,
                                         const v1::CreateMemoryRequest* request,
                                         v1::CreateMemoryResponse* response) override {
    return dispatcher_->Serve({"MemoryService.CreateMemory", Lane::kChange}, context, request, response,
                              &core::Service::CreateMemory);
  }

  grpc::ServerUnaryReactor* GetMemory(grpc::CallbackServerContext* context,
                                      const v1::GetMemoryRequest* request,
                                      v1::GetMemoryResponse* response) override {
    return dispatcher_->Serve({"MemoryService.GetMemory", Lane::kRead}, context, request, response,
                              &core::Service::GetMemory);
  }

  grpc::ServerUnaryReactor* ListMemories(grpc::CallbackServerContext* context,
                                         const v1::ListMemoriesRequest* request,
                                         v1::ListMemoriesResponse* response) override {
    return dispatcher_->Serve({"MemoryService.ListMemories", Lane::kRead}, context, request, response,
                              &core::Service::ListMemories);
  }

  grpc::ServerUnaryReactor* DeleteMemory(grpc::CallbackServerContext* context,
                                         const v1::DeleteMemoryRequest* request,
                                         v1::DeleteMemoryResponse* response) override {
    return dispatcher_->Serve({"MemoryService.DeleteMemory", Lane::kChange}, context, request, response,
                              &core::Service::DeleteMemory);
  }

  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const v1::AddRequest* request,
                                v1::AddResponse* response) override {
    return dispatcher_->Serve({"MemoryService.Add", Lane::kChange}, context, request, response,
                              &core::Service::Add);
  }

  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, const v1::ReadRequest* request,
                                 v1::ReadResponse* response) override {
    return dispatcher_->Serve({"MemoryService.Read", Lane::kRead}, context, request, response,
                              &core::Service::Read);
  }

  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context,
                                       const v1::ListTokensRequest* request,
                                       v1::ListTokensResponse* response) override {
    return dispatcher_->Serve({"MemoryService.ListTokens", Lane::kRead}, context, request, response,
                              &core::Service::ListTokens);
  }

 private:
  Dispatcher* const dispatcher_;
};

class UnlearningServiceHandlers final : public v1::UnlearningService::CallbackService {
 public:
  explicit UnlearningServiceHandlers(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const v1::DeleteRequest* request,
                                   v1::DeleteResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.Delete", Lane::kChange}, context, request, response,
                              &core::Service::Delete);
  }

  grpc::ServerUnaryReactor* Purge(grpc::CallbackServerContext* context, const v1::PurgeRequest* request,
                                  v1::PurgeResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.Purge", Lane::kChange}, context, request, response,
                              &core::Service::Purge);
  }

  grpc::ServerUnaryReactor* Certify(grpc::CallbackServerContext* context, const v1::CertifyRequest* request,
                                    v1::CertifyResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.Certify", Lane::kChange}, context, request, response,
                              &core::Service::Certify);
  }

  grpc::ServerUnaryReactor* GetCertificate(grpc::CallbackServerContext* context,
                                           const v1::GetCertificateRequest* request,
                                           v1::GetCertificateResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.GetCertificate", Lane::kRead}, context, request, response,
                              &core::Service::GetCertificate);
  }

  grpc::ServerUnaryReactor* ListCertificates(grpc::CallbackServerContext* context,
                                             const v1::ListCertificatesRequest* request,
                                             v1::ListCertificatesResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.ListCertificates", Lane::kRead}, context, request, response,
                              &core::Service::ListCertificates);
  }

  grpc::ServerUnaryReactor* ListSigningKeys(grpc::CallbackServerContext* context,
                                            const v1::ListSigningKeysRequest* request,
                                            v1::ListSigningKeysResponse* response) override {
    return dispatcher_->Serve({"UnlearningService.ListSigningKeys", Lane::kRead}, context, request, response,
                              &core::Service::ListSigningKeys);
  }

 private:
  Dispatcher* const dispatcher_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_SERVICES_H_
